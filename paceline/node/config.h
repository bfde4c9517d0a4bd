#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/base/result.h"
#include "paceline/optim/optimizer.h"
#include "paceline/optim/schedule.h"
#include "paceline/roles/coordinator.h"

// A run's configuration: read from TOML, checked, completed, and printed again. One table of keys
// (config.cc) is behind parsing, defaults, help and docs/reference/config.md.
namespace paceline::node {

enum class Transport : std::uint8_t { Unix, Tcp };
std::string_view to_string(Transport transport);

struct Config {
  struct Run {
    std::uint64_t seed = 1;
    std::string dir = "runs";
    bool operator==(const Run&) const = default;
  } run;
  struct Model {
    std::string name = "cnn";
    std::string program;  // a worker of one's own, with its model and data; empty: ours
    bool operator==(const Model&) const = default;
  } model;
  struct Data {
    std::string name = "fashion_mnist";
    std::string path;  // empty: where the data set's package puts it
    bool operator==(const Data&) const = default;
  } data;
  struct Train {
    // The budget of the whole run: one of the two. complete() turns epochs into samples.
    std::optional<std::uint64_t> samples;
    std::optional<double> epochs;
    std::uint64_t batch_size = 32;
    std::optional<double> target_accuracy;
    bool stop_at_target = false;
    std::uint64_t eval_every_samples = 6000;  // 0: only at the end
    bool evaluate = true;
    bool operator==(const Train&) const = default;
  } train;
  struct Optimizer {
    optim::OptimizerConfig rule;
    double lr = 0.1;
    optim::LrScale lr_scale = optim::LrScale::PerSample;
    optim::MomentumScale momentum_scale = optim::MomentumScale::Backdated;
    optim::Schedule schedule;
    bool operator==(const Optimizer&) const = default;
  } optimizer;
  struct Sync {
    std::string policy = "elastic_bsp:15";
    bool operator==(const Sync&) const = default;
  } sync;
  struct GradientCode {
    std::string scheme = "none";
    bool operator==(const GradientCode&) const = default;
  } code;
  struct Cluster {
    std::uint32_t workers = 4;
    std::uint32_t servers = 2;
    Transport transport = Transport::Unix;
    bool tls = false;
    std::string listen = "127.0.0.1:0";
    std::vector<double> step_floor_ms;  // [workers], or empty: none
    bool operator==(const Cluster&) const = default;
  } cluster;

  bool operator==(const Config&) const = default;
};

// One setting of the command line, stronger than the file.
struct Override {
  std::string key;     // "sync.policy"
  std::string value;   // as TOML; text needs no quotes
  std::string option;  // named by errors: "--sync"
};
// "a.b=value", as --set takes it.
Result<Override> parse_override(std::string_view text);

// What the caller knows and this folder does not: models and data sets. An error names the key in
// `where`.
using ConfigCheck = std::function<Status(const Config&)>;

// Code::InvalidArgument for all that is wrong, with file and line (or the option) in `where`.
Result<Config> parse_config(const std::string& path, std::span<const Override> overrides = {},
                            const ConfigCheck& check = {});
// name: what errors call the text.
Result<Config> parse_config_text(std::string_view text, const std::string& name,
                                 std::span<const Override> overrides = {},
                                 const ConfigCheck& check = {});

// The budget in samples. dataset_size: of the training set.
void complete(Config& config, std::uint64_t dataset_size);

// The whole configuration; parse_config_text() gives the same again.
std::string to_toml(const Config& config);

// config: completed. The policy comes from sync::make_policy(config.sync.policy).
roles::CoordinatorOptions coordinator_options(const Config& config);
// Of that worker's steps; zero if none is set.
Duration step_floor(const Config& config, WorkerId worker);

// What may stand in a configuration, in order, and what stands there in this one.
struct KeyDoc {
  std::string key;    // "train.batch_size"
  std::string type;   // "a whole number"
  std::string value;  // as TOML, and JSON as well; empty: not set
  std::string doc;
};
std::vector<KeyDoc> config_keys(const Config& config = {});
// As a table for docs/reference/config.md.
std::string config_keys_markdown();

}  // namespace paceline::node
