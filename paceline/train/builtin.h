#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "paceline/base/result.h"
#include "paceline/roles/gradient_source.h"
#include "paceline/train/native_source.h"

// The catalogue's models on its data sets, without LibTorch in the header: what a program with
// sockets, logs and protobuf includes.
namespace paceline::train {

struct Builtin {
  std::string model = "cnn";
  std::string data = "fashion_mnist";
  std::string path = {};   // the folder of the data set's files; empty: where its package puts them
  std::uint64_t seed = 1;  // of the initial parameters
};

// Reads the training set.
Result<std::unique_ptr<roles::GradientSource>> make_source(const Builtin& builtin);
// Reads the test set, and for a model with batch norm some of the training set's images (model.h).
Result<std::unique_ptr<roles::Evaluation>> make_evaluation(const Builtin& builtin);

// As native_sources(), for every model of the catalogue. Whatever thread calls, LibTorch computes
// on that one alone.
Result<SourcesFactory> torch_sources(const std::string& model, const std::string& data,
                                     const std::string& path);

}  // namespace paceline::train
