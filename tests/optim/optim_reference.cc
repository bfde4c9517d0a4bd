// Runs an update rule on gradients from a file, for test_against_pytorch.py.
//
//   optim_reference INPUT OUTPUT
//
// INPUT: one line of text, then float32 in the machine's order.
//   name momentum nesterov(0, 1) weight_decay beta1 beta2 eps size steps
//   parameters [size], rates [steps], gradients [steps, size]
// OUTPUT: the parameters after each step, float32 [steps, size].

#include <cstddef>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "paceline/optim/optimizer.h"

namespace {

using paceline::optim::OptimizerConfig;

std::vector<float> read_floats(std::istream& in, std::size_t count) {
  std::vector<float> out(count);
  in.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(count * sizeof(float)));
  return out;
}

int run(std::istream& in, std::ostream& out) {
  OptimizerConfig config;
  std::size_t size = 0;
  std::size_t steps = 0;
  in >> config.name >> config.momentum >> config.nesterov >> config.weight_decay >> config.beta1 >>
      config.beta2 >> config.eps >> size >> steps;
  in.get();  // the line's end
  auto parameters = read_floats(in, size);
  const auto rates = read_floats(in, steps);
  const auto rule = paceline::optim::make_optimizer(config, size);
  if (!rule) {
    std::cerr << to_string(rule.error()) << '\n';
    return 2;
  }
  for (const float rate : rates) {
    (*rule)->step(parameters, read_floats(in, size), rate);
    out.write(reinterpret_cast<const char*>(parameters.data()),
              static_cast<std::streamsize>(size * sizeof(float)));
  }
  return in && out ? 0 : 3;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: optim_reference INPUT OUTPUT\n";
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  std::ofstream out(argv[2], std::ios::binary);
  return run(in, out);
}
