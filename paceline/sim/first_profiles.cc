#include "paceline/base/text.h"
#include "paceline/sim/cluster_spec.h"
namespace paceline::sim {
namespace {
ClusterSpec make(std::string name, std::vector<double> steps, int jitter) {
  ClusterSpec c{.name = std::move(name)};
  for (double s : steps)
    c.workers.push_back({.speed = {.step = from_seconds(s), .jitter = 0.01 * jitter}});
  return c;
}
}  // namespace
std::span<const ClusterSpec> profiles() {
  static const std::vector<ClusterSpec> all{make("uneven4", {1, 1.1, 1.3, 2}, 5),
                                            make("one_slow_of_eight", {1, 1, 1, 1, 1, 1, 1, 4}, 5),
                                            make("demo", {.06, .06, .06, .18}, 1)};
  return all;
}
ClusterSpec equal_cluster(std::uint32_t n) {
  return make(cat("equal ", n), std::vector<double>(n, 1.0), 5);
}
Result<ClusterSpec> parse_cluster(std::string_view, const std::string&) {
  return fail(Code::Refused, "files of clusters are not read yet");
}
Result<ClusterSpec> parse_end_times(std::string_view, const std::string&) {
  return fail(Code::Refused, "files of clusters are not read yet");
}
Result<ClusterSpec> cluster_of_run(std::istream&, const std::string&) {
  return fail(Code::Refused, "files of clusters are not read yet");
}
void put(const ClusterSpec& c, Scenario& s) {
  s.run.workers = static_cast<std::uint32_t>(c.workers.size());
  s.run.servers = c.servers;
  for (const auto& w : c.workers) s.speeds.push_back(w.speed);
  s.network.latency = Duration{};
}
}  // namespace paceline::sim
