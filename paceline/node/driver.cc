#include "paceline/node/driver.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "paceline/base/text.h"

namespace paceline::node {
namespace {

constexpr Duration kFlushFiles = std::chrono::seconds(1);
constexpr std::uint32_t kFirstPeriodic = 100;  // timer ids of the role are below

roles::Level level_of(net::LogLevel level) {
  switch (level) {
    case net::LogLevel::Debug:
      return roles::Level::Debug;
    case net::LogLevel::Info:
      return roles::Level::Info;
    case net::LogLevel::Warning:
      return roles::Level::Warning;
    case net::LogLevel::Error:
      return roles::Level::Error;
  }
  return roles::Level::Info;
}

roles::GradientComputed compute_gradient(roles::GradientSource& source,
                                         const roles::Compute& compute) {
  const auto begin = std::chrono::steady_clock::now();
  roles::GradientTask task{.samples = compute.samples, .parameters = {}, .gradient = {}};
  for (const Payload& shard : compute.parameters) task.parameters.push_back(floats(shard));
  for (const MutablePayload& shard : compute.gradient) task.gradient.push_back(floats(shard));
  const auto result = source.gradient(task);
  roles::GradientComputed computed{.step = compute.step};
  computed.took = std::chrono::steady_clock::now() - begin;
  if (result) {
    computed.loss = result->loss;
  } else {
    computed.error = to_string(result.error());
  }
  return computed;
}

roles::Measured measure(roles::Evaluation& evaluation, const roles::Measure& what) {
  std::vector<float> flat;
  for (const Payload& shard : what.parameters) {
    const auto part = floats(shard);
    flat.insert(flat.end(), part.begin(), part.end());
  }
  const auto result = evaluation.evaluate(flat);
  if (!result) return {.number = what.number, .error = to_string(result.error())};
  return {.number = what.number, .accuracy = result->accuracy, .loss = result->loss};
}

}  // namespace

Driver::Driver(net::EventLoop& loop, net::TransportOptions options, BufferPool& pool,
               Effects effects)
    : loop_(loop),
      effects_(std::move(effects)),
      transport_(loop, std::move(options), pool, handlers()) {
  if (effects_.source != nullptr) {
    initial_.resize(effects_.source->parameter_count());
    effects_.source->initial_parameters(initial_);
  }
  if (effects_.source != nullptr || effects_.evaluation != nullptr) compute_.emplace();
  if (effects_.recorder != nullptr) {
    every(kFlushFiles, [this] {
      if (effects_.recorder != nullptr) check_files(effects_.recorder->flush());
    });
  }
}

Driver::~Driver() = default;

net::Handlers Driver::handlers() {
  return {
      .on_message =
          [this](NodeId from, wire::Message message, Payload payload) {
            feed(roles::Received{from, std::move(message), std::move(payload)});
          },
      .on_up = [this](NodeId peer) { feed(roles::PeerUp{peer}); },
      .on_down =
          [this](NodeId peer, const std::string& why) {
            feed(roles::PeerDown{peer, why});
          },
      .on_log = [this](net::LogLevel level,
                       const std::string& text) { effects_.log(level_of(level), text); },
  };
}

void Driver::every(Duration interval, std::function<void()> task) {
  periodic_.push_back({interval, std::move(task)});
}

void Driver::tick_on_loop(std::size_t periodic) {
  loop_.set_timer_on_loop(kFirstPeriodic + static_cast<std::uint32_t>(periodic),
                          loop_.now() + periodic_[periodic].interval, [this, periodic] {
                            periodic_[periodic].task();
                            if (!stopped_) tick_on_loop(periodic);
                          });
}

roles::Stop Driver::run(StepFunction step) {
  step_ = std::move(step);
  for (std::size_t i = 0; i < periodic_.size(); ++i) tick_on_loop(i);
  feed(roles::Started{});
  loop_.run();
  return stopped_.value_or(roles::Stop{1, "the loop ended before the role"});
}

void Driver::post(roles::Input input) {
  auto shared = std::make_shared<roles::Input>(std::move(input));
  // Refused once the loop has stopped: then nobody waits for it.
  (void)loop_.post([this, shared] { feed(std::move(*shared)); });
}

void Driver::feed(roles::Input input) {
  inputs_.push_back(std::move(input));
  if (std::exchange(feeding_, true)) return;
  while (!inputs_.empty()) {
    const roles::Input next = std::move(inputs_.front());
    inputs_.pop_front();
    if (!stopped_) take(next);
  }
  feeding_ = false;
}

void Driver::take(const roles::Input& input) {
  const Time now = loop_.now();
  if (effects_.recorder != nullptr) check_files(effects_.recorder->on_input(now, input));
  for (roles::Output& output : step_(now, input)) {
    if (effects_.recorder != nullptr) check_files(effects_.recorder->on_output(now, output));
    std::visit([this](auto& what) { carry_out(std::move(what)); }, output);
  }
}

// What a run promises to write and cannot ends the run: it is not to be found out afterwards.
void Driver::check_files(const Status& status) {
  if (status) return;
  effects_.recorder = nullptr;
  effects_.log(roles::Level::Error, to_string(status.error()));
  feed(roles::StopRequested{5, to_string(status.error())});
}

// ---- outputs ----

void Driver::carry_out(roles::Send&& send) {
  transport_.send(send.to, send.message, std::move(send.payload));
}

void Driver::carry_out(roles::Connect&& connect) {
  if (const auto status = transport_.connect(connect.node, connect.address); !status) {
    effects_.log(roles::Level::Error, to_string(status.error()));
  }
}

void Driver::carry_out(roles::Disconnect&& disconnect) { transport_.disconnect(disconnect.node); }

void Driver::carry_out(roles::SetTimer&& timer) {
  loop_.set_timer_on_loop(static_cast<std::uint32_t>(timer.id), timer.at,
                          [this, id = timer.id] { feed(roles::TimerFired{id}); });
}

void Driver::carry_out(roles::Compute&& compute) {
  const Step step = compute.step;
  const bool taken = compute_ && compute_->submit([this, job = std::move(compute)] {
    post(compute_gradient(*effects_.source, job));
  });
  if (!taken) feed(roles::GradientComputed{.step = step, .error = "another one is under way"});
}

void Driver::carry_out(roles::Measure&& what) {
  const std::uint64_t number = what.number;
  const bool taken = compute_ && compute_->submit([this, job = std::move(what)] {
    post(measure(*effects_.evaluation, job));
  });
  if (!taken) feed(roles::Measured{.number = number, .error = "another one is under way"});
}

void Driver::carry_out(roles::MakeInitial&& initial) {
  auto from = initial_.begin();
  for (const MutablePayload& shard : initial.parameters) {
    const auto part = floats(shard);
    const auto count =
        std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(part.size()), initial_.end() - from);
    std::copy_n(from, count, part.begin());
    from += count;
  }
}

void Driver::carry_out(roles::Log&& log) { effects_.log(log.level, log.text); }

void Driver::carry_out(roles::Final&& final) {
  if (effects_.keep) kept_ = effects_.keep(final);
}

void Driver::carry_out(roles::Stop&& stop) {
  if (!kept_ && stop.exit_code == 0) stop = {5, to_string(kept_.error())};
  stopped_ = std::move(stop);
  if (effects_.recorder != nullptr) {
    Recorder* recorder = std::exchange(effects_.recorder, nullptr);
    if (const Status status = recorder->finish(); !status) {
      effects_.log(roles::Level::Error, to_string(status.error()));
      if (stopped_->exit_code == 0) stopped_ = roles::Stop{5, to_string(status.error())};
    }
  }
  transport_.flush(kFlush, [this] { loop_.stop(); });
}

}  // namespace paceline::node
