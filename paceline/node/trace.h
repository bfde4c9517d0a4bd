#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "paceline/node/line_file.h"
#include "paceline/roles/io.h"

namespace paceline::node {

// trace.json, the run as the coordinator saw it, for Perfetto or chrome://tracing: a track for each
// worker with its steps and waits, one for the evaluator, barriers and losses as marks.
// A step lasts from the release to the worker's Progress (transfer included, a step floor too), a
// wait from there to the next release. Not thread-safe: the coordinator's loop owns it.
class Trace {
 public:
  // Events beyond that many are left out, and counted: a long run must not fill the disk.
  static constexpr std::uint64_t kMaxEvents = 2'000'000;

  static Result<Trace> create(const std::string& path, std::uint64_t max_events = kMaxEvents);

  // What the coordinator was given, and what it answered.
  Status on_input(Time now, const roles::Input& input);
  Status on_output(Time now, const roles::Output& output);
  Status flush() { return file_.flush(); }
  // Ends the file. Nothing may follow.
  Status finish();

 private:
  struct Span {
    Time begin{};
    std::string name;
    wire::Release release = {};  // of a step
  };

  Trace(LineFile file, std::uint64_t max_events) : file_(std::move(file)), left_(max_events) {}

  Status span(std::uint32_t track, const std::string& name, Time begin, Time end,
              const std::string& args = {});
  Status mark(std::uint32_t track, const std::string& name, Time at, const std::string& args = {});
  Status name_track(NodeId node);
  Status emit(const std::string& event);
  Status end_step(NodeId worker, Time now, const std::string& args);
  Status on_release(NodeId worker, Time now, const wire::Release& release);

  LineFile file_;
  std::uint64_t left_;
  std::uint64_t left_out_ = 0;
  bool first_ = true;
  std::map<NodeId, Span> steps_;
  std::map<NodeId, Time> waits_;
  std::map<std::uint64_t, Span> evaluations_;
  std::map<NodeId, bool> named_;
  std::uint64_t decided_ = 0;
};

}  // namespace paceline::node
