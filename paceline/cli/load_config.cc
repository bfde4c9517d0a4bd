#include "paceline/cli/load_config.h"

#include <utility>

#include "paceline/base/text.h"
#include "paceline/train/catalog.h"
#include "paceline/train/data.h"

namespace paceline::cli {
namespace {

Status at(Error error, std::string_view key) {
  error.where = key;
  return fail(std::move(error));
}

// A program of one's own has its own model and data: only it knows them.
Status check_own_program(const node::Config& config) {
  if (config.train.samples) return {};
  return fail(Code::InvalidArgument,
              cat("only ", config.model.program, " knows how long an epoch is"),
              "set train.samples instead of train.epochs", "train.epochs");
}

Status check_names(const node::Config& config) {
  if (!config.model.program.empty()) return check_own_program(config);
  const auto model = train::find_model(config.model.name);
  if (!model) return at(model.error(), "model.name");
  const auto data = train::find_data(config.data.name);
  if (!data) return at(data.error(), "data.name");
  const auto layers = (*model)->layers((*data)->shape, (*data)->classes);
  if (!layers) return at(layers.error(), "model.name");
  if ((*data)->has_files() && config.data.path.empty() && (*data)->default_path.empty()) {
    return fail(Code::InvalidArgument,
                cat("no package puts ", (*data)->name, " anywhere, so data.path must be set"),
                (*data)->fix, "data.path");
  }
  return {};
}

template <typename Parse>
Result<node::Config> completed(const ConfigArgs& args, const Parse& parse) {
  std::vector<node::Override> overrides;
  for (const std::string& text : args.set) {
    auto setting = node::parse_override(text);
    if (!setting) return fail(setting.error());
    overrides.push_back(std::move(*setting));
  }
  if (args.sync) overrides.push_back({"sync.policy", *args.sync, "--sync"});
  if (args.code) overrides.push_back({"code.scheme", *args.code, "--code"});
  Result<node::Config> config = parse(overrides);
  if (!config || !config->model.program.empty()) return config;
  const train::DataSource& data = **train::find_data(config->data.name);
  if (config->data.path.empty()) config->data.path = data.default_path;
  node::complete(*config, data.train_samples);
  return config;
}

}  // namespace

Result<node::Config> load_config(const ConfigArgs& args) {
  return completed(args, [&](const auto& overrides) {
    return node::parse_config(args.config, overrides, check_names);
  });
}

Result<node::Config> load_config_text(std::string_view text, const ConfigArgs& args) {
  return completed(args, [&](const auto& overrides) {
    return node::parse_config_text(text, "the built-in task", overrides, check_names);
  });
}

Status check_data(const node::Config& config) {
  if (!config.model.program.empty()) return {};
  return train::check_files(config.data.name, config.data.path);
}

}  // namespace paceline::cli
