// What a link costs above a bare socket: S bytes pushed and S bytes answered, one at a time. x_raw
// is the time of a blocking socket that does the same in the same process, over ours: 1.0 is as
// fast.
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "paceline/net/event_loop.h"
#include "paceline/net/pool.h"
#include "paceline/net/transport.h"

namespace paceline::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr NodeId kServer = server_node(0);
constexpr NodeId kWorker = worker_node(WorkerId{0});

// ---- a bare socket ----

bool write_all(int file, const std::byte* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::send(file, data, size, MSG_NOSIGNAL);
    if (n <= 0) return false;
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}
bool read_all(int file, std::byte* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::recv(file, data, size, 0);
    if (n <= 0) return false;
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

// Two connected sockets.
std::pair<int, int> connected_pair(bool local) {
  int both[2] = {-1, -1};
  if (local) {
    static_cast<void>(socketpair(AF_UNIX, SOCK_STREAM, 0, both));
    return {both[0], both[1]};
  }
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof here;
  static_cast<void>(bind(listener, reinterpret_cast<sockaddr*>(&here), size));
  static_cast<void>(listen(listener, 1));
  static_cast<void>(getsockname(listener, reinterpret_cast<sockaddr*>(&here), &size));
  both[0] = socket(AF_INET, SOCK_STREAM, 0);
  static_cast<void>(connect(both[0], reinterpret_cast<sockaddr*>(&here), size));
  both[1] = accept(listener, nullptr, nullptr);
  close(listener);
  const int on = 1;
  for (const int file : both) setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return {both[0], both[1]};
}

class RawPair {
 public:
  RawPair(bool local, std::size_t size) : size_(size) {
    const auto [here, there] = connected_pair(local);
    here_ = here;
    mine_ = pool_.take(size);
    echo_ = std::thread([this, file = there] {
      const MutablePayload theirs = pool_.take(size_);
      std::byte* data = theirs->bytes().data();
      while (read_all(file, data, size_) && write_all(file, data, size_)) {
      }
      close(file);
    });
  }
  ~RawPair() {
    close(here_);
    echo_.join();
  }
  RawPair(const RawPair&) = delete;
  RawPair& operator=(const RawPair&) = delete;
  bool round_trip() {
    return write_all(here_, mine_->bytes().data(), size_) &&
           read_all(here_, mine_->bytes().data(), size_);
  }

 private:
  std::size_t size_;
  int here_ = -1;
  Pool pool_;
  MutablePayload mine_;
  std::thread echo_;
};

// ---- ours ----

struct End {
  End(NodeId self, bool echo) {
    TransportOptions options;
    options.self = self;
    options.job = "bench";
    Handlers handlers;
    handlers.on_message = [this, echo](NodeId from, const wire::Message& message,
                                       const Payload& payload) {
      if (echo) return transport->send(from, message, payload);
      if (left-- > 1) return transport->send(from, message, payload);
      finished.set_value();
    };
    handlers.on_up = [this](NodeId) { up.set_value(); };
    transport = std::make_unique<Transport>(loop, options, pool, std::move(handlers));
  }
  ~End() {
    loop.stop();
    if (thread.joinable()) thread.join();
    transport.reset();
  }
  void run() {
    thread = std::thread([this] { loop.run(); });
  }

  EventLoop loop;
  Pool pool;
  std::unique_ptr<Transport> transport;
  std::promise<void> up;
  std::promise<void> finished;
  int left = 0;
  std::thread thread;
};

constexpr int kRounds = 20;

void BM_RoundTrip(benchmark::State& state) {
  const bool local = state.range(0) == 1;
  const auto size = static_cast<std::size_t>(state.range(1));
  End server(kServer, true);
  End worker(kWorker, false);
  const std::string path = "unix:/tmp/paceline-net-bench-" + std::to_string(getpid());
  const auto address = server.transport->listen(local ? path : "127.0.0.1:0");
  if (!address) return state.SkipWithError(address.error().what.c_str());
  static_cast<void>(worker.transport->connect(kServer, *address));
  server.run();
  worker.run();
  worker.up.get_future().wait();
  server.up.get_future().wait();
  const auto ours = [&] {
    worker.finished = {};
    static_cast<void>(worker.loop.post([&worker, size] {
      worker.left = kRounds;
      worker.transport->send(kServer, wire::Initialise{}, worker.pool.take(size));
    }));
    worker.finished.get_future().wait();
  };
  RawPair raw(local, size);
  const auto bare = [&] {
    for (int i = 0; i < kRounds; ++i) benchmark::DoNotOptimize(raw.round_trip());
  };
  ours();
  bare();
  // Turn about, so that a busy machine is as unfair to one as to the other.
  Clock::duration ours_took{};
  Clock::duration bare_took{};
  for (auto _ : state) {
    const auto start = Clock::now();
    ours();
    const auto middle = Clock::now();
    ours_took += middle - start;
    bare();
    bare_took += Clock::now() - middle;
    state.SetIterationTime(std::chrono::duration<double>(middle - start).count() / kRounds);
  }
  state.counters["x_raw"] =
      static_cast<double>(bare_took.count()) / static_cast<double>(ours_took.count());
  state.counters["GB/s"] = 2.0 * kRounds * static_cast<double>(size) *
                           static_cast<double>(state.iterations()) * 1e-9 /
                           std::chrono::duration<double>(ours_took).count();
}
BENCHMARK(BM_RoundTrip)
    ->ArgNames({"unix", "bytes"})
    ->ArgsProduct({{0, 1}, {64, 1 << 20, 16 << 20}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace paceline::net
