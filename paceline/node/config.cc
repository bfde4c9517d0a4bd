#include "paceline/node/config.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <utility>

// toml++ 3.3 asserts what a file may well break ("[" before a line's end), and without assertions
// lets the compiler assume it; its own checks right behind give the error.
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "paceline/base/check.h"
#include "paceline/base/text.h"
#include "paceline/sync/registry.h"

namespace paceline::node {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;

// ---- values: from TOML, to TOML ----

std::string toml_text(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += cat("\\u00", kHex[byte >> 4U], kHex[byte & 15U]);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a section";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number with a point";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or a time";
  }
}

// Each type of value: its name, how it is read (none: it is of another type) and written.
template <typename T>
struct Value;

template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>)
struct Value<T> {
  static constexpr std::string_view kType = "a whole number";
  static std::optional<T> read(const toml::node& node) {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || !std::in_range<T>(*value)) return std::nullopt;
    return static_cast<T>(*value);
  }
  static std::string print(T value) { return cat(value); }
};

template <>
struct Value<double> {
  static constexpr std::string_view kType = "a number";
  static std::optional<double> read(const toml::node& node) {
    if (!node.is_number()) return std::nullopt;
    const std::optional<double> value = node.value<double>();
    return value && std::isfinite(*value) ? value : std::nullopt;
  }
  // A point, where a whole number of so many digits would not be read again.
  static std::string print(double value) {
    std::string text = to_text(value);
    const bool whole = text.find_first_of(".e") == std::string::npos;
    return whole && text.size() > 15 ? text + ".0" : text;
  }
};

template <>
struct Value<bool> {
  static constexpr std::string_view kType = "true or false";
  static std::optional<bool> read(const toml::node& node) { return node.value_exact<bool>(); }
  static std::string print(bool value) { return value ? "true" : "false"; }
};

template <>
struct Value<std::string> {
  static constexpr std::string_view kType = "text";
  static std::optional<std::string> read(const toml::node& node) {
    return node.value_exact<std::string>();
  }
  static std::string print(const std::string& value) { return toml_text(value); }
};

template <>
struct Value<std::vector<double>> {
  static constexpr std::string_view kType = "a list of numbers";
  static std::optional<std::vector<double>> read(const toml::node& node) {
    if (!node.is_array()) return std::nullopt;
    std::vector<double> out;
    for (const toml::node& item : *node.as_array()) {
      const auto value = Value<double>::read(item);
      if (!value) return std::nullopt;
      out.push_back(*value);
    }
    return out;
  }
  static std::string print(const std::vector<double>& values) {
    std::vector<std::string> parts;
    for (const double value : values) parts.push_back(Value<double>::print(value));
    return cat("[", join(parts), "]");
  }
};

// ---- the table of keys ----

struct Key {
  std::string_view name;
  std::string_view type;
  std::string_view doc;
  // The error names the value; whoever calls adds where it stands.
  std::function<Status(Config&, const toml::node&)> read;
  std::function<std::optional<std::string>(const Config&)> print;  // none: not set
  // Whether it says something beside the others: beta1 does not for sgd.
  std::function<bool(const Config&)> relevant = [](const Config&) { return true; };
};

tl::unexpected<Error> wrong(std::string what, std::string fix) {
  return fail(Code::InvalidArgument, std::move(what), std::move(fix));
}

template <typename T>
struct Allowed {
  std::function<bool(const T&)> holds = [](const T&) { return true; };
  std::string text;
};
template <typename T>
Allowed<T> between(T low, T high) {
  return {[=](const T& value) { return low <= value && value <= high; },
          cat("give at least ", low, " and at most ", high)};
}

template <typename T>
struct Unwrapped {
  using Type = T;
};
template <typename T>
struct Unwrapped<std::optional<T>> {
  using Type = T;
};

// field: from a configuration to the member, const or not.
template <typename Field>
using TypeOf =
    typename Unwrapped<std::remove_reference_t<std::invoke_result_t<Field, Config&>>>::Type;

template <typename Field>
Key key(std::string_view name, Field field, std::string_view doc,
        Allowed<TypeOf<Field>> allowed = {}) {
  using T = TypeOf<Field>;
  auto read = [=](Config& config, const toml::node& node) -> Status {
    const std::optional<T> value = Value<T>::read(node);
    if (!value) {
      const bool same_kind =
          kind_of(node) == Value<T>::kType || (std::same_as<T, double> && node.is_number());
      return wrong(cat(name, same_kind ? " is out of range" : cat(" is ", kind_of(node))),
                   allowed.text.empty() ? cat("give ", Value<T>::kType)
                                        : cat(allowed.text, " (", Value<T>::kType, ")"));
    }
    if (!allowed.holds(*value)) {
      return wrong(cat(name, " = ", Value<T>::print(*value), " is not possible"), allowed.text);
    }
    field(config) = *value;
    return {};
  };
  auto print = [=](const Config& config) -> std::optional<std::string> {
    const auto& value = field(config);
    if constexpr (std::same_as<std::remove_cvref_t<decltype(value)>, T>) {
      return Value<T>::print(value);
    } else {
      return value ? std::optional(Value<T>::print(*value)) : std::nullopt;
    }
  };
  return {.name = name, .type = Value<T>::kType, .doc = doc, .read = read, .print = print};
}

// One of several words.
template <typename Field, typename Parse>
Key word_key(std::string_view name, Field field, Parse parse, std::string_view doc) {
  auto read = [=](Config& config, const toml::node& node) -> Status {
    const auto text = Value<std::string>::read(node);
    if (!text) return wrong(cat(name, " is ", kind_of(node)), "give text");
    const auto value = parse(*text);
    if (!value) return wrong(value.error().what, value.error().fix);
    field(config) = *value;
    return {};
  };
  auto print = [=](const Config& config) -> std::optional<std::string> {
    return toml_text(to_string(field(config)));
  };
  return {
      .name = name, .type = Value<std::string>::kType, .doc = doc, .read = read, .print = print};
}

Result<Transport> parse_transport(std::string_view name) {
  for (const Transport transport : {Transport::Unix, Transport::Tcp}) {
    if (name == to_string(transport)) return transport;
  }
  return wrong(cat("\"", name, "\" is no transport"), "use \"unix\" or \"tcp\"");
}

Key only_if(std::function<bool(const Config&)> relevant, Key key) {
  key.relevant = std::move(relevant);
  return key;
}
bool is_sgd(const Config& config) { return config.optimizer.rule.name == "sgd"; }
bool is_adam(const Config& config) { return !is_sgd(config); }
bool is_step(const Config& config) {
  return config.optimizer.schedule.name == optim::ScheduleName::Step;
}

#define PACELINE_FIELD(member) \
  [](auto& config) -> auto& { return config.member; }

std::vector<Key> make_keys() {
  const Allowed<double> positive{[](double x) { return x > 0; }, "give a number above 0"};
  const Allowed<double> share{[](double x) { return x > 0 && x <= 1; },
                              "give a share above 0 and at most 1, such as 0.88"};
  const Allowed<std::string> not_empty{[](const std::string& text) { return !text.empty(); },
                                       "give a name"};
  const Allowed<std::vector<double>> milliseconds{
      [](const std::vector<double>& all) {
        return std::ranges::all_of(all, [](double x) { return x >= 0 && x <= 3.6e6; });
      },
      "give milliseconds of at least 0 and at most an hour each"};
  return {
      key("run.seed", PACELINE_FIELD(run.seed),
          "Of everything that is drawn: first parameters, order of the samples."),
      key("run.dir", PACELINE_FIELD(run.dir), "Each run makes its own folder below it.", not_empty),
      key("model.name", PACELINE_FIELD(model.name), "See `paceline models`.", not_empty),
      key("model.program", PACELINE_FIELD(model.program),
          "A worker program of your own, with its own model and data; the names of both are then "
          "not looked up. Empty: paceline-worker."),
      key("data.name", PACELINE_FIELD(data.name), "The data set; see `paceline datasets`.",
          not_empty),
      key("data.path", PACELINE_FIELD(data.path),
          "Folder of its published files, as they are; empty: where its package puts them."),
      key("train.samples", PACELINE_FIELD(train.samples),
          "Budget of the whole run, over all workers. This or `train.epochs` must be set.",
          between<std::uint64_t>(1, 1'000'000'000'000'000)),
      key("train.epochs", PACELINE_FIELD(train.epochs),
          "The budget in passes over the training set.",
          {[](double x) { return x > 0 && x <= 1e6; },
           "give a number above 0 and at most 1000000"}),
      key("train.batch_size", PACELINE_FIELD(train.batch_size), "Samples per worker and step.",
          between<std::uint64_t>(1, 1'000'000)),
      key("train.target_accuracy", PACELINE_FIELD(train.target_accuracy),
          "Share of the test set; when it is reached is noted.", share),
      key("train.stop_at_target", PACELINE_FIELD(train.stop_at_target),
          "Ends the run when the target accuracy is reached."),
      key("train.eval_every_samples", PACELINE_FIELD(train.eval_every_samples),
          "Measures test accuracy each time so many samples more are applied; 0: only at the end."),
      key("train.evaluate", PACELINE_FIELD(train.evaluate),
          "Starts an evaluator; without one nothing is measured."),
      key("optimizer.name", PACELINE_FIELD(optimizer.rule.name), "sgd, adam or adamw."),
      key("optimizer.lr", PACELINE_FIELD(optimizer.lr), "Learning rate.",
          {[](double x) { return x > 0 && std::isfinite(static_cast<float>(x)); },
           "give a number above 0 that a float can hold"}),
      only_if(is_sgd, key("optimizer.momentum", PACELINE_FIELD(optimizer.rule.momentum),
                          "sgd: at least 0, less than 1.")),
      only_if(is_sgd, key("optimizer.nesterov", PACELINE_FIELD(optimizer.rule.nesterov),
                          "sgd: looks ahead along the momentum.")),
      key("optimizer.weight_decay", PACELINE_FIELD(optimizer.rule.weight_decay),
          "sgd, adam: added to the gradient; adamw: apart from it."),
      only_if(is_adam, key("optimizer.beta1", PACELINE_FIELD(optimizer.rule.beta1),
                           "adam, adamw: decay of the mean.")),
      only_if(is_adam, key("optimizer.beta2", PACELINE_FIELD(optimizer.rule.beta2),
                           "adam, adamw: decay of the mean square.")),
      only_if(is_adam, key("optimizer.eps", PACELINE_FIELD(optimizer.rule.eps),
                           "adam, adamw: added to the root.")),
      word_key("optimizer.lr_scale", PACELINE_FIELD(optimizer.lr_scale), optim::parse_lr_scale,
               "per_sample: an update of m pushes moves with lr m / n, n workers being in the run; "
               "per_update: with lr."),
      only_if(
          is_sgd,
          word_key(
              "optimizer.momentum_scale", PACELINE_FIELD(optimizer.momentum_scale),
              optim::parse_momentum_scale,
              "sgd with momentum, when gradients come late: backdated enters them as if they had "
              "come earlier, staleness lowers the momentum by what asynchrony gives, samples "
              "makes it count samples, closed_loop steers it by what is measured, none leaves "
              "it. Under bsp they are the same.")),
      word_key("optimizer.schedule.name", PACELINE_FIELD(optimizer.schedule.name),
               optim::parse_schedule_name,
               "constant, step or cosine, of the share of the budget that is applied."),
      only_if(is_step, key("optimizer.schedule.at", PACELINE_FIELD(optimizer.schedule.at),
                           "step: the shares where the rate falls, rising.")),
      only_if(is_step, key("optimizer.schedule.factor", PACELINE_FIELD(optimizer.schedule.factor),
                           "step: what the rate is multiplied by there.", positive)),
      key("optimizer.schedule.warmup", PACELINE_FIELD(optimizer.schedule.warmup),
          "Share of the budget over which the rate rises, from a tenth."),
      key("sync.policy", PACELINE_FIELD(sync.policy),
          "When a worker may go on; see `paceline policies`."),
      key("code.scheme", PACELINE_FIELD(code.scheme), "Gradient code; \"none\" so far."),
      key("cluster.workers", PACELINE_FIELD(cluster.workers), "Processes that compute gradients.",
          between<std::uint32_t>(1, 10'000)),
      key("cluster.servers", PACELINE_FIELD(cluster.servers),
          "Processes that hold the parameters, a shard each.", between<std::uint32_t>(1, 1'000)),
      word_key("cluster.transport", PACELINE_FIELD(cluster.transport), parse_transport,
               "unix (sockets on one host) or tcp."),
      key("cluster.tls", PACELINE_FIELD(cluster.tls),
          "With tcp: mutual TLS, certificates made for the job."),
      key("cluster.listen", PACELINE_FIELD(cluster.listen),
          "With tcp: address and port; port 0: any free one."),
      key("cluster.step_floor_ms", PACELINE_FIELD(cluster.step_floor_ms),
          "No step of that worker takes less: a slow machine on a fast one. One number a worker, "
          "or "
          "empty.",
          milliseconds),
  };
}
#undef PACELINE_FIELD

const std::vector<Key>& keys() {
  static const std::vector<Key> table = make_keys();
  return table;
}

const Key* find_key(std::string_view name) {
  const auto found = std::ranges::find(keys(), name, &Key::name);
  return found == keys().end() ? nullptr : &*found;
}

std::string_view parent_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : name.substr(0, dot);
}
std::string_view last_of(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// "train" and "optimizer.schedule" are.
bool is_section(std::string_view name) {
  return std::ranges::any_of(keys(), [&](const Key& key) {
    return key.name.size() > name.size() && key.name.starts_with(name) &&
           key.name[name.size()] == '.';
  });
}

std::vector<std::string> sections() {
  std::vector<std::string> out;
  for (const Key& key : keys()) {
    const std::string section(key.name.substr(0, key.name.find('.')));
    if (out.empty() || out.back() != section) out.push_back(section);
  }
  return out;
}

// What a person most likely meant: a near one, or the same word in another section.
std::string meant_by(std::string_view name) {
  std::vector<std::string> all;
  for (const Key& key : keys()) all.emplace_back(key.name);
  for (const Key& key : keys()) {
    if (last_of(key.name) == last_of(name)) return std::string(key.name);
  }
  std::vector<std::string> siblings;
  for (const Key& key : keys()) {
    if (parent_of(key.name) == parent_of(name)) siblings.emplace_back(last_of(key.name));
  }
  const std::string sibling = nearest(last_of(name), siblings);
  return sibling.empty() ? nearest(name, all) : cat(parent_of(name), ".", sibling);
}

Error unknown(std::string_view name, bool is_table) {
  if (is_table && name.find('.') == std::string_view::npos) {
    const std::vector<std::string> known = sections();
    const std::string meant = nearest(name, known);
    return {
        .what = cat("there is no section [", name, "]"),
        .fix = meant.empty() ? cat("there are ", join(known)) : cat("did you mean [", meant, "]?")};
  }
  const std::string meant = meant_by(name);
  return {.what = cat("there is no key '", name, "'"),
          .fix = meant.empty() ? "see `paceline check --keys`" : cat("did you mean ", meant, "?")};
}

// ---- reading ----

// What has been read so far, and where each key stands.
class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)) {}

  Status read_file(std::string_view text);
  Status read(const Override& override);
  Result<Config> finish(const ConfigCheck& check) &&;

 private:
  Status take(const std::string& key, const toml::node& node);
  Status take_table(const std::string& prefix, const toml::table& table);
  std::string place(const toml::node& node) const;
  std::string place_of(const std::string& key) const;
  tl::unexpected<Error> at(std::string_view key, std::string what, std::string fix) const;
  // Errors of other folders name the key in `where`.
  Status located(const Status& status) const;

  Status check_train() const;
  Status check_optimizer() const;
  Status check_policy() const;
  Status check_cluster() const;
  Status check_listen() const;

  Config config_;
  std::string name_;
  std::string option_;  // not empty: an override is being read
  std::map<std::string, std::string, std::less<>> places_;
};

std::string Reader::place(const toml::node& node) const {
  if (!option_.empty()) return option_;
  return cat(name_, ":", node.source().begin.line);
}

std::string Reader::place_of(const std::string& key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? name_ : found->second;
}

tl::unexpected<Error> Reader::at(std::string_view key, std::string what, std::string fix) const {
  return fail(Code::InvalidArgument, std::move(what), std::move(fix), place_of(std::string(key)));
}

Status Reader::located(const Status& status) const {
  if (status) return status;
  Error error = status.error();
  error.where = place_of(error.where);
  return fail(std::move(error));
}

Status Reader::take(const std::string& name, const toml::node& node) {
  if (const Key* key = find_key(name)) {
    if (auto ok = key->read(config_, node); !ok) {
      Error error = ok.error();
      error.where = place(node);
      return fail(std::move(error));
    }
    places_[name] = place(node);
    return {};
  }
  if (!is_section(name)) {
    Error error = unknown(name, node.is_table());
    error.where = place(node);
    return fail(std::move(error));
  }
  if (node.is_table()) return take_table(name + ".", *node.as_table());
  return fail(Code::InvalidArgument, cat(name, " is a section, not ", kind_of(node)),
              name == "optimizer.schedule" ? "write schedule = { name = \"cosine\" }"
                                           : cat("write [", name, "] and its keys below"),
              place(node));
}

Status Reader::take_table(const std::string& prefix, const toml::table& table) {
  // In the order of the file, so that the first of several errors is named.
  std::vector<std::pair<const toml::key*, const toml::node*>> entries;
  for (const auto& [key, node] : table) entries.emplace_back(&key, &node);
  std::ranges::stable_sort(entries, {}, [](const auto& entry) {
    const toml::source_position begin = entry.first->source().begin;
    return std::pair(begin.line, begin.column);
  });
  for (const auto& [key, node] : entries) {
    if (auto ok = take(prefix + std::string(key->str()), *node); !ok) return ok;
  }
  return {};
}

Status Reader::read_file(std::string_view text) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return fail(Code::InvalidArgument, cat("this is no TOML: ", parsed.error().description()),
                "see https://toml.io", cat(name_, ":", parsed.error().source().begin.line));
  }
  return take_table("", parsed.table());
}

Status Reader::read(const Override& override) {
  option_ = override.option;
  // Text needs no quotes: what is no TOML, or is no text where the key wants one, is taken as it
  // is.
  toml::parse_result parsed = toml::parse(cat("value = ", override.value));
  const Key* key = find_key(override.key);
  const bool wants_text = key != nullptr && key->type == Value<std::string>::kType;
  if (!parsed || parsed.table().size() != 1 ||
      (wants_text && !parsed.table().get("value")->is_string())) {
    parsed = toml::parse(cat("value = ", toml_text(override.value)));
  }
  if (!parsed) {
    return fail(Code::InvalidArgument, cat("the value is no text: ", parsed.error().description()),
                "give UTF-8", option_);
  }
  if (auto ok = take(override.key, *parsed.table().get("value")); !ok) return ok;
  // The budget is one of the two, and the option is the stronger.
  if (override.key == "train.samples") config_.train.epochs.reset();
  if (override.key == "train.epochs") config_.train.samples.reset();
  return {};
}

Status Reader::check_train() const {
  const Config::Train& train = config_.train;
  if (!train.samples && !train.epochs) {
    return at("", "the run has no budget", "set train.samples (150000, say) or train.epochs");
  }
  if (train.samples && train.epochs) {
    return at("train.epochs", "train.samples and train.epochs are both set", "keep one of them");
  }
  if (train.stop_at_target && !train.target_accuracy) {
    return at("train.stop_at_target", "train.stop_at_target needs a target",
              "set train.target_accuracy");
  }
  if (train.target_accuracy && !train.evaluate) {
    return at("train.evaluate", "train.target_accuracy needs an evaluator",
              "leave train.evaluate at true");
  }
  return {};
}

Status Reader::check_optimizer() const {
  if (auto ok = located(optim::check(config_.optimizer.rule)); !ok) return ok;
  return located(optim::check(config_.optimizer.schedule));
}

Status Reader::check_policy() const {
  const auto policy = sync::make_policy(config_.sync.policy);
  if (!policy) return at("sync.policy", policy.error().what, policy.error().fix);
  if (config_.code.scheme != "none") {
    return at("code.scheme",
              cat("gradient codes are not there yet, so not '", config_.code.scheme, "' either"),
              "set code.scheme = \"none\"");
  }
  return {};
}

Status Reader::check_listen() const {
  const std::string_view listen = config_.cluster.listen;
  const std::size_t colon = listen.rfind(':');
  const auto port =
      colon == std::string_view::npos ? std::nullopt : parse_uint(listen.substr(colon + 1));
  if (colon == 0 || !port || *port > std::numeric_limits<std::uint16_t>::max()) {
    return at("cluster.listen", cat("cluster.listen = \"", listen, "\" is no address and port"),
              "write \"127.0.0.1:0\" (port 0: any free one)");
  }
  return {};
}

Status Reader::check_cluster() const {
  const Config::Cluster& cluster = config_.cluster;
  if (cluster.tls && cluster.transport == Transport::Unix) {
    return at("cluster.tls", "cluster.tls goes with tcp only",
              "set cluster.transport = \"tcp\", or cluster.tls = false");
  }
  if (!cluster.step_floor_ms.empty() && cluster.step_floor_ms.size() != cluster.workers) {
    return at("cluster.step_floor_ms",
              cat("cluster.step_floor_ms has ", cluster.step_floor_ms.size(), " numbers for ",
                  cluster.workers, " workers"),
              "give one a worker, or none");
  }
  return check_listen();
}

Result<Config> Reader::finish(const ConfigCheck& check) && {
  for (const auto& ok : {check_train(), check_optimizer(), check_policy(), check_cluster()}) {
    if (!ok) return fail(ok.error());
  }
  if (check) {
    if (auto ok = located(check(config_)); !ok) return fail(ok.error());
  }
  return std::move(config_);
}

Result<std::string> read_config_file(const std::string& path) {
  const auto unusable = [&](std::string what) {
    return fail(Code::InvalidArgument, std::move(what), "give the path of a TOML file", path);
  };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return unusable("this is a folder");
  if (!std::filesystem::exists(path, error)) return unusable("there is no such file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return unusable("the file cannot be read");
  std::string text(kFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kFileBytesMax) return unusable("the file is larger than a megabyte");
  return text;
}

}  // namespace

std::string_view to_string(Transport transport) {
  return transport == Transport::Unix ? "unix" : "tcp";
}

Result<Override> parse_override(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = trim(text.substr(0, equals));
  if (equals == std::string_view::npos || name.empty()) {
    return fail(Code::InvalidArgument, cat("'", text, "' sets nothing"),
                "write --set key=value, for example --set train.samples=20000", "--set");
  }
  return Override{.key = std::string(name),
                  .value = std::string(trim(text.substr(equals + 1))),
                  .option = cat("--set ", name)};
}

Result<Config> parse_config_text(std::string_view text, const std::string& name,
                                 std::span<const Override> overrides, const ConfigCheck& check) {
  Reader reader(name);
  if (auto ok = reader.read_file(text); !ok) return fail(ok.error());
  for (const Override& override : overrides) {
    if (auto ok = reader.read(override); !ok) return fail(ok.error());
  }
  return std::move(reader).finish(check);
}

Result<Config> parse_config(const std::string& path, std::span<const Override> overrides,
                            const ConfigCheck& check) {
  const Result<std::string> text = read_config_file(path);
  if (!text) return fail(text.error());
  return parse_config_text(*text, path, overrides, check);
}

void complete(Config& config, std::uint64_t dataset_size) {
  if (!config.train.epochs) return;
  const double samples = *config.train.epochs * static_cast<double>(dataset_size);
  config.train.samples = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(samples + 0.5));
  config.train.epochs.reset();
}

std::string to_toml(const Config& config) {
  const Config defaults;
  std::string out;
  std::string section;
  std::string inner;  // an inline table that is open
  const auto close_inner = [&] {
    if (!inner.empty()) out += " }\n";
    inner.clear();
  };
  for (const Key& key : keys()) {
    const std::vector<std::string_view> parts = split(key.name, '.');
    const bool nested = parts.size() == 3;
    if (!nested || parts[1] != inner) close_inner();
    if (parts[0] != section) {
      section = parts[0];
      out += cat(out.empty() ? "[" : "\n[", section, "]\n");
    }
    const std::optional<std::string> text = key.print(config);
    if (!text || (!key.relevant(config) && text == key.print(defaults))) continue;
    if (!nested) {
      out += cat(parts[1], " = ", *text, "\n");
    } else if (inner.empty()) {
      inner = parts[1];
      out += cat(inner, " = { ", parts[2], " = ", *text);
    } else {
      out += cat(", ", parts[2], " = ", *text);
    }
  }
  close_inner();
  return out;
}

roles::CoordinatorOptions coordinator_options(const Config& config) {
  PACELINE_CHECK(config.train.samples.has_value(), "the configuration is completed");
  roles::CoordinatorOptions options;
  options.workers = config.cluster.workers;
  options.servers = config.cluster.servers;
  options.evaluator = config.train.evaluate;
  options.seed = config.run.seed;
  options.samples = *config.train.samples;
  options.batch_size = config.train.batch_size;
  options.optimizer = config.optimizer.rule;
  options.lr = config.optimizer.lr;
  options.lr_scale = config.optimizer.lr_scale;
  options.momentum_scale = config.optimizer.momentum_scale;
  options.schedule = config.optimizer.schedule;
  options.eval_every_samples = config.train.eval_every_samples;
  options.target_accuracy = config.train.target_accuracy;
  options.stop_at_target = config.train.stop_at_target;
  return options;
}

Duration step_floor(const Config& config, WorkerId worker) {
  const std::vector<double>& floors = config.cluster.step_floor_ms;
  return worker.value < floors.size() ? from_seconds(floors[worker.value] * 1e-3) : Duration{};
}

std::vector<KeyDoc> config_keys(const Config& config) {
  std::vector<KeyDoc> out;
  for (const Key& key : keys()) {
    out.push_back({.key = std::string(key.name),
                   .type = std::string(key.type),
                   .value = key.print(config).value_or(""),
                   .doc = std::string(key.doc)});
  }
  return out;
}

std::string config_keys_markdown() {
  std::string out = "| key | type | default | means |\n|---|---|---|---|\n";
  for (const KeyDoc& key : config_keys()) {
    const std::string value = key.value.empty() ? "" : cat("`", key.value, "`");
    out += cat("| `", key.key, "` | ", key.type, " | ", value, " | ", key.doc, " |\n");
  }
  return out;
}

}  // namespace paceline::node
