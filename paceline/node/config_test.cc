#include "paceline/node/config.h"

#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paceline/base/random.h"
#include "paceline/base/text.h"

namespace paceline::node {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Result<Config> parse(std::string_view text, std::vector<Override> overrides = {}) {
  return parse_config_text(text, "demo.toml", overrides);
}

Override set(std::string_view text) { return parse_override(text).value(); }

// "where: what; fix" of what must be an error.
std::string error_of(std::string_view text, std::vector<Override> overrides = {}) {
  const auto config = parse(text, std::move(overrides));
  if (config) return "no error";
  EXPECT_EQ(config.error().code, Code::InvalidArgument);
  EXPECT_FALSE(config.error().fix.empty()) << to_string(config.error());
  return to_string(config.error());
}

constexpr std::string_view kContract = R"([run]
seed = 7
dir = "runs"
[model]
name = "cnn"
[data]
name = "fashion_mnist"
path = "/usr/share/datasets/fashion-mnist"
[train]
samples = 150000
batch_size = 32
target_accuracy = 0.88
eval_every_samples = 6000
[optimizer]
name = "sgd"
lr = 0.4
momentum = 0.0
weight_decay = 0.0
lr_scale = "per_sample"
schedule = { name = "step", at = [0.5, 0.75], factor = 0.1 }
[sync]
policy = "elastic_bsp:15"
[code]
scheme = "none"
[cluster]
workers = 4
servers = 2
transport = "tcp"
tls = true
listen = "127.0.0.1:0"
step_floor_ms = [60, 60, 60, 180]
)";

TEST(ConfigTest, ReadsEveryKeyOfTheContract) {
  const auto config = parse(kContract);
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(config->run.seed, 7U);
  EXPECT_EQ(config->data.path, "/usr/share/datasets/fashion-mnist");
  EXPECT_EQ(config->train.samples, 150000U);
  EXPECT_EQ(config->train.target_accuracy, 0.88);
  EXPECT_EQ(config->optimizer.lr, 0.4);
  EXPECT_EQ(config->optimizer.schedule.name, optim::ScheduleName::Step);
  EXPECT_THAT(config->optimizer.schedule.at, ElementsAre(0.5, 0.75));
  EXPECT_EQ(config->cluster.transport, Transport::Tcp);
  EXPECT_TRUE(config->cluster.tls);
  EXPECT_THAT(config->cluster.step_floor_ms, ElementsAre(60, 60, 60, 180));
}

TEST(ConfigTest, OneLineIsEnough) {
  const auto config = parse("train.epochs = 2");
  ASSERT_TRUE(config) << to_string(config.error());
  Config expected;
  expected.train.epochs = 2;
  EXPECT_EQ(*config, expected);
}

TEST(ConfigTest, EpochsBecomeSamples) {
  auto config = parse("train.epochs = 2.5").value();
  complete(config, 60000);
  EXPECT_EQ(config.train.samples, 150000U);
  EXPECT_EQ(config.train.epochs, std::nullopt);
  config = parse("train.epochs = 1e-9").value();
  complete(config, 60000);
  EXPECT_EQ(config.train.samples, 1U) << "a run applies something";
}

TEST(ConfigTest, ErrorsNameLineAndWayOut) {
  const auto in_line_3 = [](std::string_view line) {
    return error_of(cat("train.samples = 100\n\n", line, "\n"));
  };
  EXPECT_THAT(in_line_3("optimzer.lr = 1"),
              AllOf(HasSubstr("demo.toml:3: "), HasSubstr("optimizer")));
  EXPECT_THAT(in_line_3("[optimzer]"), HasSubstr("demo.toml:3: there is no section [optimzer]; did "
                                                 "you mean [optimizer]?"));
  EXPECT_THAT(in_line_3("[train2]\nlr = 1"), HasSubstr("did you mean [train]?"));
  EXPECT_THAT(
      in_line_3("[cluster]\nwokers = 3"),
      HasSubstr("demo.toml:4: there is no key 'cluster.wokers'; did you mean cluster.workers?"));
  EXPECT_THAT(in_line_3("[cluster]\nlr = 3"), HasSubstr("did you mean optimizer.lr?"));
  EXPECT_THAT(in_line_3("[cluster]\nxyzzyx = 3"), HasSubstr("paceline check --keys"));
  EXPECT_THAT(in_line_3("cluster.workers = \"four\""),
              HasSubstr("demo.toml:3: cluster.workers is text; give at least 1"));
  EXPECT_THAT(in_line_3("cluster.workers = 2.5"), HasSubstr("is a number with a point"));
  EXPECT_THAT(in_line_3("cluster.workers = 0"),
              HasSubstr("demo.toml:3: cluster.workers = 0 is not possible; give at least 1"));
  EXPECT_THAT(in_line_3("cluster.workers = -1"), HasSubstr("demo.toml:3: cluster.workers"));
  EXPECT_THAT(in_line_3("cluster.workers = 4294967297"),
              HasSubstr("cluster.workers is out of range"));
  EXPECT_THAT(in_line_3("cluster = 3"), HasSubstr("cluster is a section, not a whole number"));
  EXPECT_THAT(in_line_3("[[cluster]]"), HasSubstr("cluster is a section, not a list"));
  EXPECT_THAT(in_line_3("run.seed = 1\nrun.seed = 2"), HasSubstr("demo.toml:4: this is no TOML"));
  EXPECT_THAT(in_line_3("[run"), HasSubstr("demo.toml:3: this is no TOML"));
  EXPECT_THAT(in_line_3("run.dir = \"\""), HasSubstr("run.dir"));
  EXPECT_THAT(in_line_3("optimizer.lr = nan"), HasSubstr("optimizer.lr"));
  EXPECT_THAT(in_line_3("optimizer.momentum = inf"),
              HasSubstr("demo.toml:3: optimizer.momentum is out of range"));
  EXPECT_THAT(in_line_3("optimizer.lr = 0"), HasSubstr("demo.toml:3: optimizer.lr = 0"));
  EXPECT_THAT(in_line_3("optimizer.lr = 1e39"), HasSubstr("a float can hold"));
}

TEST(ConfigTest, WhatCannotBeTogetherIsAnError) {
  const auto with = [](std::string_view line) {
    return error_of(cat("[train]\nsamples = 100\n", line, "\n"));
  };
  EXPECT_THAT(error_of("run.seed = 1"), HasSubstr("demo.toml: the run has no budget"));
  EXPECT_THAT(with("epochs = 1"), HasSubstr("demo.toml:3: train.samples and train.epochs"));
  EXPECT_THAT(with("target_accuracy = 1.5"), HasSubstr("demo.toml:3: train.target_accuracy = 1.5"));
  EXPECT_THAT(with("target_accuracy = 0"), HasSubstr("above 0 and at most 1"));
  EXPECT_THAT(with("stop_at_target = true"), HasSubstr("demo.toml:3: train.stop_at_target needs"));
  EXPECT_THAT(with("evaluate = false\ntarget_accuracy = 0.5"), HasSubstr("demo.toml:3: "));
  EXPECT_THAT(with("batch_size = 0"), HasSubstr("demo.toml:3: train.batch_size = 0"));
  EXPECT_THAT(with("[optimizer]\nmomentum = 1"), HasSubstr("demo.toml:4: momentum = 1 is out"));
  EXPECT_THAT(with("[optimizer]\nname = \"adamm\""), HasSubstr("demo.toml:4: \"adamm\""));
  EXPECT_THAT(with("[optimizer]\nschedule = { name = \"cosin\" }"),
              HasSubstr("demo.toml:4: \"cosin\""));
  EXPECT_THAT(with("[optimizer]\nschedule = { name = \"step\" }"),
              HasSubstr("a step schedule needs"));
  EXPECT_THAT(with("[optimizer]\nschedule = \"cosine\""), HasSubstr("write schedule = { name"));
  EXPECT_THAT(with("[optimizer]\nlr_scale = \"per_push\""), HasSubstr("demo.toml:4: \"per_push\""));
  EXPECT_THAT(
      with("[optimizer]\nmomentum_scale = \"backdate\""),
      HasSubstr(
          "demo.toml:4: \"backdate\" is no scale of the momentum; did you mean \"backdated\"?"));
  EXPECT_THAT(with("[sync]\npolicy = \"dssp:5-3\""), HasSubstr("demo.toml:4: policy 'dssp:5-3'"));
  EXPECT_THAT(with("[sync]\npolicy = \"elastic_bps\""),
              AllOf(HasSubstr("demo.toml:4: "), HasSubstr("elastic_bsp")));
  EXPECT_THAT(with("[code]\nscheme = \"frc:s=1\""), HasSubstr("demo.toml:4: gradient codes are not "
                                                              "there yet"));
  EXPECT_THAT(with("[cluster]\ntls = true"), HasSubstr("demo.toml:4: cluster.tls goes with tcp"));
  EXPECT_THAT(with("[cluster]\ntransport = \"udp\""), HasSubstr("use \"unix\" or \"tcp\""));
  EXPECT_THAT(with("[cluster]\nstep_floor_ms = [1, 2]"), HasSubstr("has 2 numbers for 4 workers"));
  EXPECT_THAT(with("[cluster]\nstep_floor_ms = [1, 2, 3, -4]"), HasSubstr("milliseconds"));
  EXPECT_THAT(with("[cluster]\nstep_floor_ms = [1, \"2\"]"), HasSubstr("a list of numbers"));
  for (const char* listen : {"", "localhost", ":1", "localhost:65536", "localhost:x", "a:-1"}) {
    EXPECT_THAT(with(cat("[cluster]\nlisten = \"", listen, "\"")), HasSubstr("demo.toml:4: "))
        << listen;
  }
}

TEST(ConfigTest, OptionsAreStrongerThanTheFile) {
  const auto config =
      parse(kContract, {set("optimizer.lr=0.25"),
                        set(" run.dir = some where "),
                        set("run.seed=9"),
                        set("optimizer.schedule={name=\"constant\", at=[]}"),
                        {.key = "sync.policy", .value = "ssp:3", .option = "--sync"},
                        set("cluster.step_floor_ms=[]"),
                        set("data.name=2026"),
                        set("model.name=\"quoted\""),
                        set("train.epochs=3")});
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(config->optimizer.lr, 0.25);
  EXPECT_EQ(config->run.dir, "some where");
  EXPECT_EQ(config->run.seed, 9U);
  EXPECT_EQ(config->optimizer.schedule.name, optim::ScheduleName::Constant);
  EXPECT_EQ(config->sync.policy, "ssp:3");
  EXPECT_TRUE(config->cluster.step_floor_ms.empty());
  EXPECT_EQ(config->data.name, "2026");
  EXPECT_EQ(config->model.name, "quoted");
  EXPECT_EQ(config->train.epochs, 3);
  EXPECT_EQ(config->train.samples, std::nullopt) << "the file's budget gives way";
}

TEST(ConfigTest, ErrorsOfOptionsNameTheOption) {
  const auto with = [](Override override) { return error_of(kContract, {std::move(override)}); };
  EXPECT_THAT(with({.key = "sync.policy", .value = "sssp:3", .option = "--sync"}),
              HasSubstr("--sync: "));
  EXPECT_THAT(with(set("cluster.workers=0")),
              HasSubstr("--set cluster.workers: cluster.workers = 0"));
  EXPECT_THAT(with(set("cluster.workers=\"4\nx")), HasSubstr("--set cluster.workers: "));
  EXPECT_THAT(with(set("cluster.workers=4\nrun.seed=5")), HasSubstr("--set cluster.workers: "))
      << "one option sets one key";
  EXPECT_THAT(with(set("cluster.worker=3")), HasSubstr("did you mean cluster.workers?"));
  EXPECT_THAT(with(set("cluster.workers=")), HasSubstr("--set cluster.workers: "));
  EXPECT_THAT(with(set("run.dir=\xff\xfe")), HasSubstr("--set run.dir: the value is no text"));
  EXPECT_THAT(with(set("cluster=3")), HasSubstr("--set cluster: cluster is a section"));
  EXPECT_THAT(to_string(parse_override("train.samples").error()), HasSubstr("--set key=value"));
  EXPECT_THAT(to_string(parse_override("=3").error()), HasSubstr("--set key=value"));
}

TEST(ConfigTest, FilesThatAreNone) {
  const std::string dir = testing::TempDir();
  EXPECT_THAT(to_string(parse_config(dir).error()), HasSubstr("this is a folder"));
  EXPECT_THAT(to_string(parse_config(dir + "/no.toml").error()), HasSubstr("no such file"));
  const std::string large = dir + "/large.toml";
  std::ofstream(large) << std::string(2 << 20, '#');
  EXPECT_THAT(to_string(parse_config(large).error()), HasSubstr("larger than a megabyte"));
}

// ---- what is printed is read again ----

std::string random_text(Rng& rng) {
  constexpr std::string_view kPieces[] = {"a",    "\"", "\\", "\n", "\t", " ",      "#", "\x7f",
                                          "\x01", "é",  "=",  "'",  "[",  "runs/x", "\r"};
  std::string out = "x";
  for (std::uint64_t i = rng.below(6); i > 0; --i) out += kPieces[rng.below(std::size(kPieces))];
  return out;
}

double random_number(Rng& rng, double low, double high) {
  constexpr double kOdd[] = {1e-8, 0.1, 1, 3, 1e20, 123456789012345680000.0, 0.30000000000000004};
  const double odd = kOdd[rng.below(std::size(kOdd))];
  if (rng.chance(1, 2) && odd > low && odd < high) return odd;
  return low + (high - low) * std::max(rng.unit(), 1e-9);
}

optim::OptimizerConfig random_rule(Rng& rng) {
  optim::OptimizerConfig rule;
  rule.weight_decay = random_number(rng, 0, 1e21);
  if (rng.chance(1, 2)) {
    rule.momentum = random_number(rng, 0, 0.99);
    rule.nesterov = rng.chance(1, 2);
    return rule;
  }
  rule.name = rng.chance(1, 2) ? "adam" : "adamw";
  rule.beta1 = random_number(rng, 0, 0.99);
  rule.eps = random_number(rng, 0, 1);
  return rule;
}

optim::Schedule random_schedule(Rng& rng) {
  optim::Schedule schedule;
  schedule.name = static_cast<optim::ScheduleName>(rng.below(3));
  if (schedule.name == optim::ScheduleName::Step)
    schedule.at = {0.25, random_number(rng, 0.3, 0.9)};
  if (rng.chance(1, 2)) schedule.factor = random_number(rng, 0, 10);
  schedule.warmup = random_number(rng, 0, 0.9);
  return schedule;
}

Config random_config(Rng& rng) {
  constexpr const char* kPolicies[] = {"bsp", "asp", "ssp:3", "dssp:3-15", "elastic_bsp:15"};
  Config config;
  config.run = {.seed = rng.next() >> 1U, .dir = random_text(rng)};
  config.model = {.name = random_text(rng), .program = rng.chance(1, 2) ? "" : random_text(rng)};
  config.data = {.name = random_text(rng), .path = rng.chance(1, 2) ? "" : random_text(rng)};
  if (rng.chance(1, 2)) {
    config.train.samples = 1 + rng.below(1'000'000'000'000'000);
  } else {
    config.train.epochs = random_number(rng, 0, 1e6);
  }
  config.train.batch_size = 1 + rng.below(1000);
  config.train.evaluate = rng.chance(3, 4);
  if (config.train.evaluate && rng.chance(1, 2)) {
    config.train.target_accuracy = random_number(rng, 0, 1);
    config.train.stop_at_target = rng.chance(1, 2);
  }
  config.train.eval_every_samples = rng.below(10000);
  config.optimizer = {
      .rule = random_rule(rng),
      .lr = random_number(rng, 0, 1e21),
      .lr_scale = rng.chance(1, 2) ? optim::LrScale::PerSample : optim::LrScale::PerUpdate,
      .schedule = random_schedule(rng)};
  if (config.optimizer.rule.name == "sgd" && rng.chance(1, 2)) {
    config.optimizer.momentum_scale = optim::MomentumScale::Staleness;
  }
  config.sync.policy = kPolicies[rng.below(std::size(kPolicies))];
  config.cluster.workers = static_cast<std::uint32_t>(1 + rng.below(10));
  config.cluster.servers = static_cast<std::uint32_t>(1 + rng.below(10));
  if (rng.chance(1, 2)) {
    config.cluster.transport = Transport::Tcp;
    config.cluster.tls = rng.chance(1, 2);
  }
  config.cluster.listen = rng.chance(1, 2) ? "127.0.0.1:0" : "[::1]:8123";
  for (std::uint32_t i = 0; rng.chance(9, 10) && i < config.cluster.workers; ++i) {
    config.cluster.step_floor_ms.push_back(random_number(rng, 0, 3.6e6));
  }
  if (config.cluster.step_floor_ms.size() != config.cluster.workers) {
    config.cluster.step_floor_ms.clear();
  }
  return config;
}

TEST(ConfigTest, WhatIsPrintedIsReadAgain) {
  Rng root(1);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Rng rng = root.stream("config", seed);
    const Config config = random_config(rng);
    const std::string text = to_toml(config);
    const auto again = parse(text);
    ASSERT_TRUE(again) << "seed " << seed << ": " << to_string(again.error()) << '\n' << text;
    ASSERT_EQ(*again, config) << "seed " << seed << '\n' << text;
    ASSERT_EQ(to_toml(*again), text);
  }
}

// Whatever a line is broken into: an error or a configuration, never more.
TEST(ConfigTest, BrokenFilesAreErrorsWithAPlace) {
  Rng root(2);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Rng rng = root.stream("broken", seed);
    std::string text(kContract);
    for (int i = 0; i < 3; ++i) {
      const std::size_t at = rng.below(text.size());
      switch (rng.below(3)) {
        case 0:
          text[at] = static_cast<char>(rng.below(256));
          break;
        case 1:
          text.erase(at, 1 + rng.below(20));
          break;
        default:
          text.insert(at, text.substr(rng.below(text.size()), rng.below(40)));
      }
    }
    const auto config = parse(text);
    ASSERT_TRUE(config || config.error().where.starts_with("demo.toml")) << text;
  }
}

// ---- what follows from it ----

TEST(ConfigTest, TheCoordinatorGetsWhatIsConfigured) {
  const Config config = parse(kContract).value();
  const roles::CoordinatorOptions options = coordinator_options(config);
  EXPECT_EQ(options.workers, 4U);
  EXPECT_EQ(options.servers, 2U);
  EXPECT_EQ(options.samples, 150000U);
  EXPECT_EQ(options.batch_size, 32U);
  EXPECT_EQ(options.seed, 7U);
  EXPECT_EQ(options.lr, 0.4);
  EXPECT_EQ(options.optimizer, config.optimizer.rule);
  EXPECT_EQ(options.schedule, config.optimizer.schedule);
  EXPECT_EQ(options.eval_every_samples, 6000U);
  EXPECT_EQ(options.target_accuracy, 0.88);
  EXPECT_TRUE(options.evaluator);
  EXPECT_EQ(step_floor(config, WorkerId{3}), std::chrono::milliseconds(180));
  EXPECT_EQ(step_floor(Config{}, WorkerId{3}), Duration{});
}

TEST(ConfigTest, TheTableOfKeysHasEachOnceWithItsDefault) {
  std::set<std::string> names;
  for (const KeyDoc& key : config_keys()) {
    EXPECT_TRUE(names.insert(key.key).second) << key.key;
    EXPECT_TRUE(key.doc.ends_with('.')) << key.key;
  }
  // Of the contract: interface.md, Configuration.
  for (const char* key : {"run.seed",
                          "run.dir",
                          "model.name",
                          "data.name",
                          "data.path",
                          "train.samples",
                          "train.epochs",
                          "train.batch_size",
                          "train.target_accuracy",
                          "train.stop_at_target",
                          "train.eval_every_samples",
                          "optimizer.name",
                          "optimizer.lr",
                          "optimizer.momentum",
                          "optimizer.weight_decay",
                          "optimizer.lr_scale",
                          "optimizer.momentum_scale",
                          "optimizer.schedule.name",
                          "optimizer.schedule.at",
                          "optimizer.schedule.factor",
                          "sync.policy",
                          "code.scheme",
                          "cluster.workers",
                          "cluster.servers",
                          "cluster.transport",
                          "cluster.tls",
                          "cluster.listen",
                          "cluster.step_floor_ms"}) {
    EXPECT_TRUE(names.contains(key)) << key;
  }
  const std::string table = config_keys_markdown();
  EXPECT_THAT(table, HasSubstr("| `train.samples` | a whole number |  | "));
  EXPECT_THAT(table, HasSubstr("| `optimizer.beta1` | a number | `0.9` | "));
  EXPECT_THAT(table, HasSubstr("| `cluster.transport` | text | `\"unix\"` | "));
}

}  // namespace
}  // namespace paceline::node
