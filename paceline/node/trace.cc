#include "paceline/node/trace.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "paceline/base/text.h"

namespace paceline::node {
namespace {

std::uint32_t track_of(NodeId node) {
  switch (node.role) {
    case Role::Coordinator:
      return 0;
    case Role::Evaluator:
      return 1;
    case Role::Server:
      return 1000 + node.index;
    case Role::Worker:
      return 100'000 + node.index;
  }
  return 0;
}

std::string microseconds(Time time) { return fixed(static_cast<double>(time.count()) * 1e-3, 3); }

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string with_args(const std::string& args) {
  return args.empty() ? "}" : cat(",\"args\":{", args, "}}");
}

std::string step_args(const wire::Progress& progress) {
  return cat("\"loss\":", nlohmann::json(progress.loss).dump(), ",\"compute_ms\":",
             fixed(static_cast<double>(progress.compute_nanoseconds) * 1e-6, 3));
}

}  // namespace

Result<Trace> Trace::create(const std::string& path, std::uint64_t max_events) {
  auto file = LineFile::create(path);
  if (!file) return fail(file.error());
  if (auto begun = file->append("["); !begun) return fail(begun.error());
  return Trace(std::move(*file), max_events);
}

Status Trace::emit(const std::string& event) {
  if (left_ == 0) {
    ++left_out_;
    return {};
  }
  --left_;
  return file_.append(cat(std::exchange(first_, false) ? "" : ",", event));
}

Status Trace::name_track(NodeId node) {
  if (std::exchange(named_[node], true)) return {};
  return emit(cat("{\"ph\":\"M\",\"pid\":1,\"tid\":", track_of(node),
                  ",\"name\":\"thread_name\",\"args\":{\"name\":\"", to_string(node), "\"}}"));
}

Status Trace::span(std::uint32_t track, const std::string& name, Time begin, Time end,
                   const std::string& args) {
  return emit(cat("{\"ph\":\"X\",\"pid\":1,\"tid\":", track, ",\"name\":", quoted(name), ",\"ts\":",
                  microseconds(begin), ",\"dur\":", microseconds(end - begin), with_args(args)));
}

Status Trace::mark(std::uint32_t track, const std::string& name, Time at, const std::string& args) {
  return emit(cat("{\"ph\":\"i\",\"s\":\"p\",\"pid\":1,\"tid\":", track, ",\"name\":", quoted(name),
                  ",\"ts\":", microseconds(at), with_args(args)));
}

Status Trace::on_input(Time now, const roles::Input& input) {
  if (const auto* died = std::get_if<roles::ProcessDied>(&input)) {
    steps_.erase(died->node);
    waits_.erase(died->node);
    return mark(0, cat(to_string(died->node), " died"), now,
                cat("\"cause\":", quoted(died->cause)));
  }
  const auto* received = std::get_if<roles::Received>(&input);
  if (received == nullptr) return {};
  const NodeId from = received->from;
  if (const auto* progress = std::get_if<wire::Progress>(&received->message)) {
    const auto step = steps_.find(from);
    if (step == steps_.end() || step->second.release.incarnation != progress->incarnation ||
        step->second.release.step != progress->step) {
      return {};
    }
    waits_[from] = now;
    return end_step(from, now, step_args(*progress));
  }
  if (const auto* evaluated = std::get_if<wire::Evaluated>(&received->message)) {
    const auto evaluation = evaluations_.find(evaluated->number);
    if (evaluation == evaluations_.end()) return {};
    const Span done = std::move(evaluation->second);
    evaluations_.erase(evaluation);
    return span(track_of(from), done.name, done.begin, now,
                cat("\"accuracy\":", nlohmann::json(evaluated->accuracy).dump()));
  }
  return {};
}

Status Trace::end_step(NodeId worker, Time now, const std::string& args) {
  const Span done = std::move(steps_.extract(worker).mapped());
  return span(track_of(worker), done.name, done.begin, now, args);
}

Status Trace::on_release(NodeId worker, Time now, const wire::Release& release) {
  if (auto named = name_track(worker); !named) return named;
  const auto open = steps_.find(worker);
  if (open != steps_.end()) {
    if (open->second.release.incarnation == release.incarnation &&
        open->second.release.step == release.step) {
      return {};  // said again
    }
    // Its push was complete before its Progress came, by another link: there was no wait.
    if (auto ended = end_step(worker, now, {}); !ended) return ended;
  }
  steps_[worker] = {now, cat("step ", release.step), {release.incarnation, release.step}};
  const auto waited = waits_.find(worker);
  if (waited == waits_.end()) return {};
  const Time since = waited->second;
  waits_.erase(waited);
  return span(track_of(worker), "wait", since, now);
}

Status Trace::on_output(Time now, const roles::Output& output) {
  const auto* sent = std::get_if<roles::Send>(&output);
  if (sent == nullptr) return {};
  const NodeId to = sent->to;
  if (const auto* release = std::get_if<wire::Release>(&sent->message)) {
    return on_release(to, now, *release);
  }
  if (const auto* evaluate = std::get_if<wire::Evaluate>(&sent->message)) {
    if (auto named = name_track(to); !named) return named;
    evaluations_.try_emplace(evaluate->number, Span{now, cat("version ", evaluate->version)});
    return {};
  }
  const auto* decide = std::get_if<wire::Decide>(&sent->message);
  if (decide != nullptr && decide->number > decided_) {  // each server gets it, some of them twice
    decided_ = decide->number;
    for (const wire::Update& update : decide->updates) {
      if (update.pushes.size() < 2) continue;
      if (auto status = mark(0, cat("barrier: mean of ", update.pushes.size(), " pushes"), now);
          !status) {
        return status;
      }
    }
  }
  return {};
}

Status Trace::finish() {
  if (left_out_ > 0) {
    left_ = 1;
    if (auto status = emit(cat("{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"left out\",\"args\":{"
                               "\"events\":",
                               left_out_, "}}"));
        !status) {
      return status;
    }
  }
  if (auto status = file_.append("]"); !status) return status;
  return file_.flush();
}

}  // namespace paceline::node
