// A cluster file: JSON to ClusterSpec. docs/reference/cluster-file.md is its reference.

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>

#include "paceline/base/text.h"
#include "paceline/sim/cluster_spec.h"
#include "paceline/sim/lined_json.h"

namespace paceline::sim {
namespace {

using Kind = LinedJson::Kind;

constexpr double kLongest = 1e8;       // seconds, of whatever
constexpr double kLongestSteps = 1e7;  // as kLongestStep
constexpr double kShortest = 1e-9;     // time is counted in nanoseconds
constexpr double kMostFactor = 1e6;

struct Range {
  double low;
  double high;
  const char* allowed;  // as a sentence says it
  bool is_whole = false;
};
constexpr Range kStep{kShortest, kLongestSteps, "seconds: 1e-9 to 1e7"};
constexpr Range kSeconds{0, kLongest, "seconds: 0 to 1e8"};
constexpr Range kSomeSeconds{kShortest, kLongest, "seconds: 1e-9 to 1e8"};
constexpr Range kSpread{0, kLongestSteps, "seconds: 0 to 1e7"};
constexpr Range kFactor{1 / kMostFactor, kMostFactor, "1e-6 to 1e6"};
constexpr Range kShare{0, 1, "0 to 1"};
constexpr Range kBandwidth{1, 1e15, "bytes a second: 1 to 1e15, or null for no bound"};

class Reader;

// An object of the file with its path. Its fields are asked for by name; what nobody asked for is
// unknown.
class Fields {
 public:
  Fields(Reader& reader, const LinedJson* object, std::string path)
      : reader_(reader), object_(object), path_(std::move(path)) {}

  double number(const char* name, const Range& range, double otherwise);
  std::optional<double> number(const char* name, const Range& range);
  double needed(const char* name, const Range& range);
  std::string text(const char* name, std::string otherwise);
  // The elements of a list, each an object; one object alone is a list of one.
  std::vector<Fields> objects(const char* name);
  std::optional<Fields> object(const char* name);
  std::vector<Duration> durations(const char* name, const Range& range);
  const LinedJson* ask(const char* name);

  void wrong(const char* name, const std::string& what, const std::string& fix);
  void refuse_others();
  std::string path_of(const std::string& name) const {
    return path_.empty() ? name : cat(path_, ".", name);
  }
  Reader& reader() { return reader_; }

 private:
  bool is_number(const LinedJson& value, const std::string& path, const Range& range);
  std::optional<Fields> as_object(const LinedJson& value, std::string path);

  Reader& reader_;
  const LinedJson* object_;
  std::string path_;
  std::vector<std::string> known_;
};

// Keeps the first error; after it, what is read does not matter.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  Result<ClusterSpec> read(const LinedJson& root);

  void wrong(std::size_t line, std::string what, std::string fix) {
    if (error_) return;
    error_ = Error{Code::InvalidArgument, std::move(what), std::move(fix), cat(file_, ":", line)};
  }

 private:
  LinkSpec link(Fields fields, const LinkSpec& otherwise);
  void workers(Fields& cluster, ClusterSpec& spec);
  WorkerSpec worker(Fields& fields, const LinkSpec& network);
  Distribution step(Fields& worker);
  Distribution distribution(Fields fields);
  Drift drift(Fields fields);
  std::vector<SlowPhase> slow(Fields& worker);
  Straggler straggler(Fields fields);
  std::vector<PauseSpec> pauses(Fields& worker);
  std::vector<PresenceSpec> presence(Fields& worker);
  PresenceSpec stay(Fields& fields);

  std::string file_;
  std::optional<Error> error_;
};

// ---- fields ----

const LinedJson* Fields::ask(const char* name) {
  known_.emplace_back(name);
  return object_->find(name);
}

void Fields::wrong(const char* name, const std::string& what, const std::string& fix) {
  const LinedJson* value = object_->find(name);
  reader_.wrong((value == nullptr ? object_ : value)->line, cat(path_of(name), " ", what), fix);
}

bool Fields::is_number(const LinedJson& value, const std::string& path, const Range& range) {
  if (value.kind != Kind::Number) {
    reader_.wrong(value.line, cat(path, " is ", name_of(value.kind), ", not a number"),
                  cat("give ", range.allowed));
    return false;
  }
  const bool is_whole = !range.is_whole || std::floor(value.number) == value.number;
  if (value.number >= range.low && value.number <= range.high && is_whole) return true;
  reader_.wrong(value.line, cat(path, " is ", value.number), cat("give ", range.allowed));
  return false;
}

std::optional<double> Fields::number(const char* name, const Range& range) {
  const LinedJson* value = ask(name);
  if (value == nullptr || value->kind == Kind::Null) return std::nullopt;
  if (!is_number(*value, path_of(name), range)) return std::nullopt;
  return value->number;
}

double Fields::number(const char* name, const Range& range, double otherwise) {
  return number(name, range).value_or(otherwise);
}

double Fields::needed(const char* name, const Range& range) {
  const auto value = number(name, range);
  if (!value) wrong(name, "is missing", cat("give ", range.allowed));
  return value.value_or(range.low);
}

std::string Fields::text(const char* name, std::string otherwise) {
  const LinedJson* value = ask(name);
  if (value == nullptr) return otherwise;
  if (value->kind == Kind::Text) return value->text;
  wrong(name, cat("is ", name_of(value->kind), ", not a text"), "put it between quotes");
  return otherwise;
}

std::optional<Fields> Fields::as_object(const LinedJson& value, std::string path) {
  if (value.kind == Kind::Object) return Fields(reader_, &value, std::move(path));
  reader_.wrong(value.line, cat(path, " is ", name_of(value.kind), ", not an object"),
                "put its fields between { and }");
  return std::nullopt;
}

std::optional<Fields> Fields::object(const char* name) {
  const LinedJson* value = ask(name);
  if (value == nullptr || value->kind == Kind::Null) return std::nullopt;
  return as_object(*value, path_of(name));
}

std::vector<Fields> Fields::objects(const char* name) {
  const LinedJson* value = ask(name);
  std::vector<Fields> all;
  if (value == nullptr || value->kind == Kind::Null) return all;
  if (value->kind != Kind::Array) {
    if (auto one = as_object(*value, path_of(name))) all.push_back(std::move(*one));
    return all;
  }
  for (std::size_t i = 0; i < value->elements.size(); ++i) {
    auto one = as_object(value->elements[i], cat(path_of(name), "[", i, "]"));
    if (!one) return all;
    all.push_back(std::move(*one));
  }
  return all;
}

std::vector<Duration> Fields::durations(const char* name, const Range& range) {
  const LinedJson* value = ask(name);
  std::vector<Duration> all;
  if (value == nullptr || value->kind != Kind::Array || value->elements.empty()) {
    wrong(name, "is no list of numbers", cat("give at least one, each in ", range.allowed));
    return all;
  }
  for (std::size_t i = 0; i < value->elements.size(); ++i) {
    if (!is_number(value->elements[i], cat(path_of(name), "[", i, "]"), range)) return all;
    all.push_back(from_seconds(value->elements[i].number));
  }
  return all;
}

void Fields::refuse_others() {
  for (std::size_t i = 0; i < object_->names.size(); ++i) {
    const std::string& name = object_->names[i];
    if (std::ranges::find(known_, name) != known_.end()) continue;
    const std::string meant = nearest(name, known_);
    reader_.wrong(
        object_->elements[i].line, cat(path_of(name), " is unknown"),
        meant.empty() ? cat("there are ", join(known_)) : cat("did you mean ", meant, "?"));
    return;
  }
}

// ---- the cluster ----

LinkSpec Reader::link(Fields fields, const LinkSpec& otherwise) {
  LinkSpec link = otherwise;
  link.latency = fields.number("latency", kSeconds, otherwise.latency);
  const LinedJson* bandwidth = fields.ask("bandwidth");
  if (bandwidth != nullptr) link.bandwidth = fields.number("bandwidth", kBandwidth);
  fields.refuse_others();
  return link;
}

Distribution Reader::distribution(Fields fields) {
  const std::string kind = fields.text("distribution", "");
  Distribution made = Constant{Duration{1}};
  const auto duration = [&](const char* name, const Range& range) {
    return from_seconds(fields.needed(name, range));
  };
  if (kind == "constant") {
    made = Constant{duration("value", kStep)};
  } else if (kind == "uniform") {
    const Uniform uniform{.low = duration("low", kStep), .high = duration("high", kStep)};
    if (uniform.high < uniform.low) fields.wrong("high", "is below low", "give low <= high");
    made = uniform;
  } else if (kind == "normal") {
    made = Normal{.mean = duration("mean", kStep), .sigma = duration("sigma", kSpread)};
  } else if (kind == "lognormal") {
    made = Lognormal{.mean = duration("mean", kStep),
                     .sigma = fields.needed("sigma", {0, 5, "0 to 5, of the step's logarithm"})};
  } else if (kind == "exponential") {
    Exponential tail{.mean = duration("mean", kStep)};
    tail.min = from_seconds(fields.number("min", kSpread, 0));
    if (tail.min > tail.mean) fields.wrong("min", "is above mean", "give min <= mean");
    made = tail;
  } else if (kind == "pareto") {
    made = Pareto{.scale = duration("scale", kStep),
                  .alpha = fields.needed("alpha", {1.01, 1000,
                                                   "1.01 to 1000; the mean is "
                                                   "scale * alpha / (alpha - 1)"})};
  } else if (kind == "trace") {
    std::vector<Duration> steps = fields.durations("steps", kStep);
    if (!steps.empty()) made = trace_of(std::move(steps));
  } else {
    fields.wrong("distribution", kind.empty() ? "is missing" : cat("is '", kind, "'"),
                 "there are constant, uniform, normal, lognormal, exponential, pareto, trace");
    return made;
  }
  fields.refuse_others();
  return made;
}

Distribution Reader::step(Fields& worker) {
  const LinedJson* value = worker.ask("step");
  if (value != nullptr && value->kind == Kind::Object) {
    return distribution(*worker.object("step"));
  }
  return Constant{from_seconds(worker.needed("step", kStep))};
}

Drift Reader::drift(Fields fields) {
  constexpr Range kRate{-1000, 1000, "-1000 to 1000, a share of the step"};
  const Drift none;
  Drift drift{.per_second = fields.number("per_second", kRate, 0),
              .per_step = fields.number("per_step", kRate, 0),
              .least = fields.number("least", {1 / kMostFactor, 1, "1e-6 to 1"}, none.least),
              .most = fields.number("most", {1, kMostFactor, "1 to 1e6"}, none.most)};
  fields.refuse_others();
  return drift;
}

std::vector<SlowPhase> Reader::slow(Fields& worker) {
  std::vector<SlowPhase> phases;
  for (Fields& fields : worker.objects("slow")) {
    SlowPhase phase{.factor = fields.needed("factor", kFactor),
                    .from = from_seconds(fields.number("from", kSeconds, 0)),
                    .until = from_seconds(fields.number("until", kSeconds, kLongest))};
    if (phase.until <= phase.from) fields.wrong("until", "is not above from", "give from < until");
    if (const auto every = fields.number("every", kSomeSeconds)) {
      phase.every = from_seconds(*every);
      if (*phase.every < phase.until - phase.from) {
        fields.wrong("every", "is shorter than the phase", "give at least until - from");
      }
    }
    fields.refuse_others();
    phases.push_back(phase);
  }
  return phases;
}

Straggler Reader::straggler(Fields fields) {
  Straggler straggler{.probability = fields.needed("probability", kShare),
                      .factor = fields.needed("factor", kFactor),
                      .steps = static_cast<std::uint64_t>(
                          fields.number("steps", {1, 1e9, "a whole number, 1 to 1e9", true}, 1))};
  fields.refuse_others();
  return straggler;
}

std::vector<PauseSpec> Reader::pauses(Fields& worker) {
  std::vector<PauseSpec> pauses;
  for (Fields& fields : worker.objects("pauses")) {
    const PauseSpec pause{.at = fields.needed("at", kSeconds),
                          .length = fields.needed("for", kSomeSeconds)};
    if (!pauses.empty() && pause.at < pauses.back().at + pauses.back().length) {
      fields.wrong("at", "is before the end of the pause before it", "put them in order");
    }
    fields.refuse_others();
    pauses.push_back(pause);
  }
  return pauses;
}

PresenceSpec Reader::stay(Fields& fields) {
  PresenceSpec stay{.joins = fields.number("joins", kSeconds, 0),
                    .leaves = fields.number("leaves", kSomeSeconds)};
  if (const auto dies = fields.number("dies", kSomeSeconds)) {
    if (stay.leaves) fields.wrong("dies", "and leaves are both there", "leave one of them out");
    stay.leaves = dies;
    stay.dies = true;
  }
  if (stay.leaves && *stay.leaves <= stay.joins) {
    fields.wrong(stay.dies ? "dies" : "leaves", "is not above joins", "it joins before it goes");
  }
  return stay;
}

std::vector<PresenceSpec> Reader::presence(Fields& worker) {
  const PresenceSpec once = stay(worker);
  std::vector<Fields> all = worker.objects("presence");
  if (all.empty()) return {once};
  if (once.joins != 0 || once.leaves) {
    worker.wrong("presence", "and joins, leaves or dies are both there",
                 "say it in presence alone");
  }
  std::vector<PresenceSpec> presence;
  for (Fields& fields : all) {
    const PresenceSpec next = stay(fields);
    if (!presence.empty()) {
      const auto& left = presence.back().leaves;
      if (!left) {
        fields.wrong("joins", "comes after a stay without end",
                     "say when the one before it leaves");
      } else if (next.joins <= *left) {
        fields.wrong("joins", "is not above the end of the stay before it", "put them in order");
      }
    }
    fields.refuse_others();
    presence.push_back(next);
  }
  return presence;
}

WorkerSpec Reader::worker(Fields& fields, const LinkSpec& network) {
  WorkerSpec worker{.speed = {.step = step(fields),
                              .jitter = fields.number("jitter", {0, 0.999, "0 to 0.999"}, 0)}};
  if (auto given = fields.object("drift")) worker.speed.drift = drift(*given);
  worker.speed.slow = slow(fields);
  if (auto given = fields.object("straggler")) worker.speed.straggler = straggler(*given);
  if (auto given = fields.object("network")) worker.link = link(*given, network);
  worker.pauses = pauses(fields);
  worker.presence = presence(fields);
  return worker;
}

void Reader::workers(Fields& cluster, ClusterSpec& spec) {
  const LinedJson* value = cluster.ask("workers");
  if (value != nullptr && value->kind != Kind::Array) {
    cluster.wrong("workers", cat("is ", name_of(value->kind), ", not a list"),
                  "give [{\"step\": 1.0}, ...]");
    return;
  }
  for (Fields& fields : cluster.objects("workers")) {
    if (error_) return;
    const WorkerSpec made = worker(fields, spec.network);
    const double count =
        fields.number("count", {1, kMostWorkers, "a whole number, 1 to 1e6", true}, 1);
    fields.refuse_others();
    if (count > kMostWorkers - static_cast<double>(spec.workers.size())) {
      return fields.wrong("count", "makes more workers than there may be", "at most 1e6");
    }
    spec.workers.insert(spec.workers.end(), static_cast<std::size_t>(count), made);
  }
  if (spec.workers.empty()) {
    cluster.wrong("workers", value == nullptr ? "is missing" : "is empty",
                  "give at least one, {\"step\": 1.0}");
  }
}

Result<ClusterSpec> Reader::read(const LinedJson& root) {
  if (root.kind != Kind::Object) {
    return fail(Code::InvalidArgument, cat("this is ", name_of(root.kind), ", not a cluster"),
                "give {\"workers\": [{\"step\": 1.0}, ...]}", cat(file_, ":", root.line));
  }
  Fields fields(*this, &root, "");
  constexpr Range kServers{1, 1000, "a whole number, 1 to 1000", true};
  constexpr Range kParameters{1, 1e12, "a whole number, 1 to 1e12", true};
  const ClusterSpec none;
  ClusterSpec spec;
  spec.name = fields.text("name", std::string(stem_of(file_)));
  spec.doc = fields.text("doc", "");
  spec.servers = static_cast<std::uint32_t>(fields.number("servers", kServers, none.servers));
  spec.service_time = fields.number("service_time", kSeconds, 0);
  spec.parameters = static_cast<std::uint64_t>(
      fields.number("parameters", kParameters, static_cast<double>(none.parameters)));
  if (auto network = fields.object("network")) spec.network = link(*network, {});
  workers(fields, spec);
  fields.refuse_others();
  if (error_) return fail(std::move(*error_));
  return spec;
}

}  // namespace

Result<ClusterSpec> parse_cluster(std::string_view json, const std::string& where) {
  const auto root = parse_lined(json, where);
  if (!root) return fail(root.error());
  return Reader(where).read(*root);
}

}  // namespace paceline::sim
