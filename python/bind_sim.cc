#include <algorithm>
#include <atomic>
#include <ctime>
#include <functional>
#include <optional>
#include <sstream>
#include <thread>
#include <tuple>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "paceline/base/text.h"
#include "paceline/sim/cluster_spec.h"
#include "paceline/sim/compare.h"
#include "paceline/sim/compare_json.h"
#include "python/errors.h"
#include "python/module.h"
#include "python/policy.h"

namespace nb = nanobind;

namespace paceline::python {
namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// On this thread, which holds the interpreter's lock; Ctrl+C is seen between two runs.
void run_in_order(std::size_t count, const std::function<void(std::size_t)>& work) {
  for (std::size_t i = 0; i < count; ++i) {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    work(i);
  }
}

// On as many threads as there are processors, none of which touches Python.
void run_side_by_side(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  const std::size_t threads = std::min<std::size_t>(count, std::thread::hardware_concurrency());
  std::vector<std::jthread> others;
  for (std::size_t t = 1; t < threads; ++t) others.emplace_back(take);
  take();
}

using Named = std::tuple<std::string, std::optional<nb::callable>>;

sim::Comparison compare(const sim::ClusterSpec& cluster, const std::vector<Named>& candidates,
                        std::optional<std::uint64_t> steps, std::optional<double> seconds,
                        std::uint64_t seeds, std::uint64_t seed) {
  sim::Experiment experiment{.cluster = cluster,
                             .steps = steps,
                             .seconds = seconds,
                             .first_seed = seed,
                             .seeds = seeds,
                             .timeline = true};
  bool is_python = false;
  for (const auto& [name, make] : candidates) {
    sim::Candidate& candidate = experiment.candidates.emplace_back();
    candidate.policy = name;
    if (!make) continue;
    is_python = true;
    candidate.make = [make = *make] { return adopt(make(), true); };
  }
  const sim::Machine machine{.run_all = is_python ? run_in_order : run_side_by_side,
                             .processor_seconds = processor_seconds};
  if (is_python) return value_of(sim::compare(experiment, machine));
  const auto compared = [&] {
    const nb::gil_scoped_release release;
    return sim::compare(experiment, machine);
  }();
  return value_of(compared);
}

}  // namespace

void bind_sim(nb::module_& module) {
  nb::class_<sim::ClusterSpec>(
      module, "Cluster", "Who computes how fast, over which links, and when who comes and goes.")
      .def_ro("name", &sim::ClusterSpec::name)
      .def_ro("doc", &sim::ClusterSpec::doc)
      .def_ro("servers", &sim::ClusterSpec::servers)
      .def_prop_ro("workers", [](const sim::ClusterSpec& self) { return self.workers.size(); })
      .def("__repr__", [](const sim::ClusterSpec& self) {
        return cat("<cluster ", self.name, ": ", self.workers.size(), " workers>");
      });
  module.def("profiles", [] {
    const auto profiles = sim::profiles();
    return std::vector<sim::ClusterSpec>(profiles.begin(), profiles.end());
  });
  module.def("equal_cluster", [](std::uint32_t workers) { return sim::equal_cluster(workers); });
  module.def("parse_cluster", [](const std::string& text, const std::string& where) {
    return value_of(sim::parse_cluster(text, where));
  });
  module.def("parse_end_times", [](const std::string& text, const std::string& where) {
    return value_of(sim::parse_end_times(text, where));
  });
  module.def("cluster_of_run", [](const std::string& text, const std::string& where) {
    std::istringstream lines(text);
    return value_of(sim::cluster_of_run(lines, where));
  });
  nb::class_<sim::Comparison>(module, "Result")
      .def_prop_ro("json", [](const sim::Comparison& self) { return sim::to_json(self).dump(); });
  module.def("compare", &compare, nb::arg("cluster"), nb::arg("candidates"),
             nb::arg("steps").none(), nb::arg("seconds").none(), nb::arg("seeds"), nb::arg("seed"));
}

}  // namespace paceline::python
