// Runs one of the catalogue's models on parameters and images from files, so that another
// implementation can be compared with it.
//
//   train_dump MODEL CHANNELS HEIGHT WIDTH CLASSES FOLDER
//
// Reads parameters.f32 and images.f32 (any number of images). Writes names.txt (a parameter a
// line: name and sizes), training.f32 (logits in training mode), gradient.f32 (of the mean cross
// entropy in training mode, image i being of class i mod CLASSES) and evaluation.f32 (logits in
// evaluation mode, statistics recomputed from these images).

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "paceline/train/model.h"

namespace {

using namespace paceline;  // NOLINT: a small program

std::vector<float> read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

void write(const std::string& path, std::span<const float> values) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(values.data()),
            static_cast<std::streamsize>(values.size_bytes()));
}

void write(const std::string& path, const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().contiguous();
  write(path, std::span(flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())));
}

void run(const std::string& model, const train::Shape& shape, std::int64_t classes,
         const std::string& folder) {
  torch::set_num_threads(1);
  const auto module = train::make_module(model, shape, classes, 1).value();
  std::ofstream names(folder + "names.txt");
  for (const auto& item : module->named_parameters()) {
    names << item.key();
    for (const auto size : item.value().sizes()) names << ' ' << size;
    names << '\n';
  }
  const std::vector<float> parameters = read(folder + "parameters.f32");
  std::vector<float> pixels = read(folder + "images.f32");
  train::FlatView view(*module);
  TORCH_CHECK(view.size() == parameters.size(), "the model has ", view.size(), " parameters, ",
              parameters.size(), " came");
  const std::span<const float> flat(parameters);
  view.set_parameters({&flat, 1});
  const torch::Tensor images =
      torch::from_blob(pixels.data(), {static_cast<std::int64_t>(pixels.size()) / shape.size(),
                                       shape.channels, shape.height, shape.width});

  const torch::Tensor logits = module->forward(images);
  write(folder + "training.f32", logits);
  torch::cross_entropy_loss(logits, torch::arange(images.size(0)).remainder(classes)).backward();
  std::vector<float> gradient(parameters.size());
  const std::span<float> room(gradient);
  view.get_gradient({&room, 1});
  write(folder + "gradient.f32", gradient);

  train::recompute_statistics(*module, {&images, 1});
  const torch::NoGradGuard no_grad;
  write(folder + "evaluation.f32", module->forward(images));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 7) return EXIT_FAILURE;
  run(argv[1], {std::atoll(argv[2]), std::atoll(argv[3]), std::atoll(argv[4])}, std::atoll(argv[5]),
      std::string(argv[6]) + "/");
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
