// check CONFIG.toml: reads, completes and prints; starts nothing.

#include <cmath>

#include <nlohmann/json.hpp>

#include "paceline/base/text.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/load_config.h"
#include "paceline/cli/output.h"
#include "paceline/node/summary.h"
#include "paceline/sync/registry.h"
#include "paceline/train/catalog.h"
#include "paceline/train/data.h"

namespace paceline::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kFloatBytes = 4;

// What the configuration means, in figures.
struct Plan {
  std::uint64_t parameters = 0;
  std::uint64_t pushes = 0;
  double epochs = 0;
  std::uint64_t server_bytes = 0;  // all servers: parameters, optimizer, a gradient of each worker
  std::uint64_t worker_bytes = 0;  // each, without LibTorch itself and what a batch needs
  const train::DataSource* data = nullptr;  // null: a program of one's own knows it
  const sync::PolicyEntry* policy = nullptr;
};

std::uint64_t optimizer_vectors(const optim::OptimizerConfig& rule) {
  if (rule.name != "sgd") return 2;
  return rule.momentum > 0 ? 1 : 0;
}

Plan make_plan(const node::Config& config) {
  Plan plan;
  const std::uint64_t samples = config.train.samples.value_or(0);
  plan.pushes = (samples + config.train.batch_size - 1) / config.train.batch_size;
  const std::string_view name = split(config.sync.policy, ':').front();
  for (const sync::PolicyEntry& policy : sync::policies()) {
    if (policy.name == name) plan.policy = &policy;
  }
  if (!config.model.program.empty()) return plan;
  plan.data = *train::find_data(config.data.name);
  plan.parameters =
      train::parameter_count(config.model.name, plan.data->shape, plan.data->classes).value_or(0);
  plan.epochs = static_cast<double>(samples) / static_cast<double>(plan.data->train_samples);
  const std::uint64_t vector = plan.parameters * kFloatBytes;
  plan.server_bytes =
      vector * (1 + optimizer_vectors(config.optimizer.rule) + config.cluster.workers);
  // The network's and LibTorch's copy of parameters and gradient, and the training set as it is.
  const auto image = static_cast<std::uint64_t>(plan.data->shape.size());
  plan.worker_bytes = 4 * vector + plan.data->train_samples * image;
  return plan;
}

std::string count(std::uint64_t number, std::string_view noun) {
  return cat(number, " ", noun, number == 1 ? "" : "s");
}

// What only the catalogue knows.
std::string catalogue_in_words(const node::Config& config, const Plan& plan) {
  if (plan.data == nullptr) {
    return cat("program     ", config.model.program, ", with its own model and data\n",
               "budget      ", *config.train.samples, " samples: ", plan.pushes,
               " pushes of at most ", config.train.batch_size, "\n");
  }
  const std::string data_bytes = bytes_text(static_cast<double>(plan.worker_bytes));
  std::string out;
  out += cat("model       ", config.model.name, ", ", plan.parameters, " parameters (",
             bytes_text(static_cast<double>(plan.parameters * kFloatBytes)), ")\n");
  out += cat("data        ", config.data.name, ": ", plan.data->train_samples, " to train, ",
             plan.data->test_samples, " to test, ",
             plan.data->has_files() ? cat("in ", config.data.path) : "generated", "\n");
  out += cat("budget      ", *config.train.samples, " samples (", fixed(plan.epochs, 2),
             " epochs): ", plan.pushes, " pushes of at most ", config.train.batch_size, "\n");
  out += cat("memory      servers together ", bytes_text(static_cast<double>(plan.server_bytes)),
             ", each worker ", data_bytes, " beside LibTorch and one batch\n");
  return out;
}

std::string in_words(const node::Config& config, const Plan& plan) {
  std::string out;
  out += cat("processes   1 coordinator, ", count(config.cluster.servers, "server"), ", ",
             count(config.cluster.workers, "worker"),
             config.train.evaluate ? ", 1 evaluator" : ", no evaluator", " over ",
             to_string(config.cluster.transport), config.cluster.tls ? " with TLS" : "", "\n");
  out += catalogue_in_words(config, plan);
  out += cat("policy      ", config.sync.policy, "\n",
             plan.policy ? wrapped(plan.policy->doc, 12) : "");
  return out;
}

// As comments, so that what is printed is a configuration again.
std::string as_comments(std::string_view text) {
  std::string out;
  for (const std::string_view line : split(trim(text), '\n')) out += cat("# ", line, "\n");
  return out;
}

Json data_json(const node::Config& config, const train::DataSource* data) {
  if (data == nullptr) return nullptr;
  Json files = Json::array();
  for (const auto* half : {&data->train, &data->test}) {
    for (const train::DataFile& file : *half) {
      files.push_back({{"name", file.name}, {"bytes", file.bytes}});
    }
  }
  return {{"name", config.data.name},
          {"path", config.data.path},
          {"train_samples", data->train_samples},
          {"test_samples", data->test_samples},
          {"files", std::move(files)}};
}

Json to_json(const node::Config& config, const Plan& plan) {
  const bool own = plan.data == nullptr;
  return {
      {"config", node::config_json(config)},
      {"toml", node::to_toml(config)},
      {"processes",
       {{"coordinator", 1},
        {"servers", config.cluster.servers},
        {"workers", config.cluster.workers},
        {"evaluator", config.train.evaluate ? 1 : 0}}},
      {"parameters", own ? Json(nullptr) : Json(plan.parameters)},
      {"samples", *config.train.samples},
      {"epochs", own ? Json(nullptr) : Json(plan.epochs)},
      {"pushes", plan.pushes},
      {"memory_bytes",
       own ? Json(nullptr) : Json{{"servers", plan.server_bytes}, {"worker", plan.worker_bytes}}},
      {"data", data_json(config, plan.data)},
      {"policy",
       {{"spec", config.sync.policy},
        {"doc", plan.policy ? Json(plan.policy->doc) : Json(nullptr)},
        {"source", plan.policy ? Json(plan.policy->source) : Json(nullptr)},
        {"file", plan.policy ? Json(plan.policy->file) : Json(nullptr)}}}};
}

int print_keys(bool json) {
  if (!json) {
    print(node::config_keys_markdown());
    return 0;
  }
  Json out = Json::array();
  for (const node::KeyDoc& key : node::config_keys()) {
    const Json value = key.value.empty() ? Json(nullptr) : Json::parse(key.value);
    out.push_back({{"key", key.key}, {"type", key.type}, {"default", value}, {"doc", key.doc}});
  }
  print_json(out);
  return 0;
}

}  // namespace

int cmd_check(const CheckArgs& args) {
  if (args.keys) return print_keys(args.json);
  if (args.config.empty()) {
    const Error missing{
        .what = "CONFIG is required", .fix = "see: paceline check --help", .where = "check"};
    return report_error(missing, args.json);
  }
  const auto config = load_config(args);
  if (!config) return report_error(config.error(), args.json);
  const Plan plan = make_plan(*config);
  if (!args.json) print(cat(node::to_toml(*config), "\n", as_comments(in_words(*config, plan))));
  if (auto ok = check_data(*config); !ok) return report_error(ok.error(), args.json);
  if (args.json) print_json(to_json(*config, plan));
  return 0;
}

}  // namespace paceline::cli
