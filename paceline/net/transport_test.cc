#include "paceline/net/transport.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "paceline/base/random.h"
#include "paceline/base/text.h"
#include "paceline/net/raw_socket.h"
#include "paceline/net/test_node.h"
#include "paceline/wire/frame.h"

namespace paceline::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Node;
using testing::options_of;
using testing::RawSocket;

constexpr NodeId kServer = server_node(0);
constexpr NodeId kWorker = worker_node(WorkerId{3});

// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/paceline-net-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

enum class Kind { Tcp, Unix, Tls };

// What every kind of link promises.
class TransportContract : public ::testing::TestWithParam<Kind> {
 protected:
  TransportOptions options(NodeId self) {
    TransportOptions options = options_of(self);
    if (GetParam() == Kind::Tls) {
      if (!tls_) tls_ = load_tls(make_job_certificates(folder_.path()).value()).value();
      options.tls = tls_;
    }
    return options;
  }
  std::string any_address() {
    return GetParam() == Kind::Unix ? "unix:" + (folder_ / cat("s", ++sockets_))
                                    : std::string("127.0.0.1:0");
  }

  Folder folder_;

 private:
  std::shared_ptr<TlsContext> tls_;
  int sockets_ = 0;
};

std::string name_of_kind(const ::testing::TestParamInfo<Kind>& param) {
  if (param.param == Kind::Tcp) return "Tcp";
  return param.param == Kind::Unix ? "Unix" : "Tls";
}
INSTANTIATE_TEST_SUITE_P(All, TransportContract,
                         ::testing::Values(Kind::Tcp, Kind::Unix, Kind::Tls), name_of_kind);

Payload random_payload(BufferPool& pool, std::size_t size, std::uint64_t seed) {
  Rng rng(seed);
  const MutablePayload payload = pool.take(size);
  const auto bytes = payload->bytes();
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    const std::uint64_t value = rng.next();
    std::memcpy(bytes.data() + i, &value, 8);
  }
  for (std::size_t i = size / 8 * 8; i < size; ++i) bytes[i] = std::byte{1};
  return payload;
}

bool same_bytes(const Payload& a, const Payload& b) {
  return size_of(a) == size_of(b) &&
         (size_of(a) == 0 || std::memcmp(a->bytes().data(), b->bytes().data(), size_of(a)) == 0);
}

TEST_P(TransportContract, DeliversMessagesInOrderBothWays) {
  Node server(options(kServer));
  Node worker(options(kWorker));
  const std::string address = server.listen(any_address());
  worker.connect(kServer, address);
  ASSERT_TRUE(worker.wait_for_event("up server 0"));
  ASSERT_TRUE(server.wait_for_event("up worker 3"));

  constexpr std::uint64_t kMessages = 1000;
  const auto talk = [](NodeId to) {
    return [to](Transport& t) {
      for (std::uint64_t i = 0; i < kMessages; ++i) t.send(to, wire::Ping{i});
    };
  };
  worker.on_loop(talk(kServer));
  server.on_loop(talk(kWorker));
  ASSERT_TRUE(server.wait_for_messages(kMessages));
  ASSERT_TRUE(worker.wait_for_messages(kMessages));
  for (Node* node : {&server, &worker}) {
    const auto got = node->got();
    ASSERT_EQ(got.size(), kMessages);
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      ASSERT_EQ(got[i].message, wire::Message{wire::Ping{i}});
      ASSERT_EQ(got[i].from, node == &server ? kWorker : kServer);
      ASSERT_EQ(got[i].payload, nullptr);
    }
  }
  EXPECT_EQ(server.counters().strangers, 0U);
  EXPECT_EQ(server.counters().messages_in, kMessages);
  EXPECT_EQ(server.counters().messages_out, kMessages);
}

TEST_P(TransportContract, CarriesPayloadsOfAnySizeWhole) {
  Node server(options(kServer));
  Node worker(options(kWorker));
  worker.connect(kServer, server.listen(any_address()));
  ASSERT_TRUE(worker.wait_for_event("up server 0"));
  ASSERT_TRUE(server.wait_for_event("up worker 3"));

  std::vector<Payload> sent;
  std::size_t bytes = 0;
  constexpr std::size_t kSizes[] = {20'000'000, 0, 1, 65'536, 3, 40'000, 1'000'003, 8, 2'000'000};
  for (const std::size_t size : kSizes) {
    sent.push_back(size == 0 ? nullptr : random_payload(worker.pool, size, size));
    bytes += size;
  }
  const auto send_all = [&](NodeId to) {
    return [&sent, to](Transport& t) {
      for (const Payload& payload : sent) t.send(to, wire::Initialise{}, payload);
    };
  };
  worker.on_loop(send_all(kServer));
  server.on_loop(send_all(kWorker));  // both ways at once: neither may wait for the other
  for (Node* node : {&server, &worker}) {
    ASSERT_TRUE(node->wait_for_messages(sent.size()));
    const auto got = node->got();
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_TRUE(same_bytes(got[i].payload, sent[i])) << i;
    }
    EXPECT_EQ(node->counters().payload_bytes_in, bytes);
    EXPECT_EQ(node->counters().payload_bytes_out, bytes);
    EXPECT_GT(node->counters().bytes_in, bytes);
    EXPECT_TRUE(node->wait([&] { return node->counters().bytes_out > bytes; }));
  }
}

TEST_P(TransportContract, NoticesADeadPeerAndReachesItsSuccessor) {
  auto server = std::make_unique<Node>(options(kServer));
  Node worker(options(kWorker));
  const std::string address = server->listen(any_address());
  worker.connect(kServer, address);
  ASSERT_TRUE(worker.wait_for_event("up server 0"));
  server.reset();
  ASSERT_TRUE(worker.wait_for_event("down server 0"));
  EXPECT_THAT(worker.reasons()[0], HasSubstr("server 0"));

  worker.send(kServer, wire::Ping{1});  // nobody is there: gone without a word
  server = std::make_unique<Node>(options(kServer));
  EXPECT_EQ(server->listen(address), address);
  ASSERT_TRUE(worker.wait_for_event("up server 0", 2));
  worker.send(kServer, wire::Ping{2});
  ASSERT_TRUE(server->wait_for_messages(1));
  EXPECT_EQ(server->got()[0].message, wire::Message{wire::Ping{2}});
}

// The caller may be there before the one it calls, and the caller may die too.
TEST_P(TransportContract, ComesUpInAnyOrderAndSeesTheCallerGo) {
  std::string address = any_address();
  {
    Node first(options(kServer));
    address = first.listen(address);
  }
  auto worker = std::make_unique<Node>(options(kWorker));
  worker->connect(kServer, address);
  ASSERT_TRUE(worker->wait_for_log("server 0 at "));  // not there
  Node server(options(kServer));
  server.listen(address);
  ASSERT_TRUE(server.wait_for_event("up worker 3"));
  ASSERT_TRUE(worker->wait_for_event("up server 0"));
  worker.reset();
  ASSERT_TRUE(server.wait_for_event("down worker 3"));
  EXPECT_THAT(server.reasons()[0], HasSubstr("worker 3"));
  EXPECT_EQ(server.counters().strangers, 0U);
}

TEST_P(TransportContract, WhoeverDoesNotKnowTheSecretChangesNothingButACounter) {
  Node server(options(kServer));
  const std::string address = server.listen(any_address());
  TransportOptions wrong = options(kWorker);
  wrong.secret = testing::secret_of(2);
  Node stranger(wrong);
  stranger.connect(kServer, address);
  ASSERT_TRUE(stranger.wait_for_log("start all processes with the same secret"));
  ASSERT_TRUE(server.wait_for_strangers(1));
  ASSERT_TRUE(stranger.wait([&] { return stranger.counters().refused >= 1; }));
  ASSERT_TRUE(server.wait_for_log("does not know this job's secret"));
  EXPECT_TRUE(server.events().empty());
  EXPECT_TRUE(stranger.events().empty());
  EXPECT_EQ(server.counters().links, 0U);

  Node worker(options(kWorker));
  worker.connect(kServer, address);
  EXPECT_TRUE(worker.wait_for_event("up server 0"));
}

// It is not only the server that must be sure: a worker tells nobody anything who took its port.
TEST_P(TransportContract, TheCallerRefusesWhoeverDoesNotKnowTheSecret) {
  TransportOptions wrong = options(kServer);
  wrong.secret = testing::secret_of(2);
  Node impostor(wrong);
  Node worker(options(kWorker));
  worker.connect(kServer, impostor.listen(any_address()));
  ASSERT_TRUE(worker.wait([&] { return worker.counters().refused >= 2; }));
  EXPECT_TRUE(worker.events().empty());
}

TEST_P(TransportContract, RefusesAnotherProcessAtTheAddress) {
  Node other(options(server_node(7)));
  Node worker(options(kWorker));
  worker.connect(kServer, other.listen(any_address()));
  ASSERT_TRUE(worker.wait_for_log("server 7"));
  ASSERT_TRUE(other.wait_for_strangers(1));
  EXPECT_TRUE(worker.events().empty());
  EXPECT_TRUE(other.events().empty());
}

TEST_P(TransportContract, RefusesAnotherJob) {
  Node server(options(kServer));
  TransportOptions other = options(kWorker);
  other.job = "job-2";
  Node worker(other);
  worker.connect(kServer, server.listen(any_address()));
  ASSERT_TRUE(worker.wait_for_log("another job"));
  ASSERT_TRUE(server.wait_for_strangers(1));
  EXPECT_TRUE(server.events().empty());
}

TEST_P(TransportContract, RandomBytesChangeNothingButACounter) {
  Node server(options(kServer));
  Node worker(options(kWorker));
  const std::string address = server.listen(any_address());
  worker.connect(kServer, address);
  ASSERT_TRUE(server.wait_for_event("up worker 3"));
  ASSERT_TRUE(worker.wait_for_event("up server 0"));

  Rng rng(6);
  constexpr std::uint64_t kStrangers = 40;
  for (std::uint64_t i = 0; i < kStrangers; ++i) {
    std::string bytes(8 + rng.below(4000), '\0');
    for (char& c : bytes) c = static_cast<char>(rng.below(256));
    RawSocket stranger = RawSocket::connected(address);
    ASSERT_TRUE(stranger.good());
    stranger.write(bytes);
    if (GetParam() != Kind::Tls) {
      EXPECT_EQ(stranger.rest(), "");  // closed without an answer
    }
  }
  ASSERT_TRUE(server.wait_for_strangers(kStrangers));
  EXPECT_EQ(server.counters().strangers, kStrangers);
  EXPECT_THAT(server.events(), ElementsAre("up worker 3"));
  worker.send(kServer, wire::Ping{1});
  EXPECT_TRUE(server.wait_for_messages(1));
  EXPECT_EQ(server.got().size(), 1U);
}

TEST_P(TransportContract, AHalfHandshakeEndsInTime) {
  TransportOptions hasty = options(kServer);
  hasty.handshake_timeout = std::chrono::milliseconds(50);
  Node server(hasty);
  const std::string address = server.listen(any_address());
  RawSocket silent = RawSocket::connected(address);
  EXPECT_EQ(silent.rest(), "");
  RawSocket half = RawSocket::connected(address);
  const auto hello =
      wire::Handshake::initiator({kWorker, "job-1", testing::secret_of(1)}, kServer, {}).begin();
  half.write(std::string_view(hello).substr(0, 50));
  half.rest();
  ASSERT_TRUE(server.wait_for_strangers(2));
  EXPECT_TRUE(server.events().empty());
}

// The same on the calling side: whoever accepts and says nothing is given up, and called again.
TEST_P(TransportContract, ASilentListenerIsGivenUp) {
  TransportOptions hasty = options(kWorker);
  hasty.handshake_timeout = std::chrono::milliseconds(50);
  Node worker(hasty);
  TransportOptions slow = options(kServer);
  Node server(slow);
  const std::string address = server.listen(any_address());
  std::promise<void> go_on;
  ASSERT_TRUE(server.loop.post([wait = go_on.get_future().share()] { wait.wait(); }));
  worker.connect(kServer, address);
  EXPECT_TRUE(worker.wait_for_log("in time"));
  go_on.set_value();
  EXPECT_TRUE(worker.wait_for_event("up server 0"));
}

// A flood of connections that prove nothing: the oldest go, so that a peer still comes in.
TEST_P(TransportContract, StrangersDoNotKeepAPeerOut) {
  TransportOptions tight = options(kServer);
  tight.unproven_most = 4;
  tight.handshake_timeout = testing::kDeadline;
  Node server(tight);
  const std::string address = server.listen(any_address());
  std::vector<RawSocket> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.push_back(RawSocket::connected(address));
    ASSERT_TRUE(strangers.back().good());
  }
  ASSERT_TRUE(server.wait_for_strangers(16));
  EXPECT_EQ(strangers[0].rest(), "");
  Node worker(options(kWorker));
  worker.connect(kServer, address);
  EXPECT_TRUE(worker.wait_for_event("up server 0"));
  EXPECT_EQ(server.counters().strangers, 17U);
}

TEST_P(TransportContract, ANewerConnectionOfTheSameNodeTakesTheOldOnesPlace) {
  Node server(options(kServer));
  const std::string address = server.listen(any_address());
  TransportOptions patient = options(kWorker);
  patient.retry_first = testing::kDeadline;  // the old one does not come back
  Node old(patient);
  old.connect(kServer, address);
  ASSERT_TRUE(server.wait_for_event("up worker 3"));
  Node successor(options(kWorker));
  successor.connect(kServer, address);
  ASSERT_TRUE(server.wait_for_event("up worker 3", 2));
  EXPECT_THAT(server.events(), ElementsAre("up worker 3", "down worker 3", "up worker 3"));
  EXPECT_THAT(server.reasons(), ElementsAre(HasSubstr("newer connection")));
  ASSERT_TRUE(old.wait_for_event("down server 0"));
  server.send(kWorker, wire::Ping{5});
  EXPECT_TRUE(successor.wait_for_messages(1));
  EXPECT_TRUE(old.got().empty());
}

TEST_P(TransportContract, AFullQueueBreaksTheLinkWithAReason) {
  for (const bool by_bytes : {false, true}) {
    TransportOptions tight = options(kServer);
    if (by_bytes) {
      tight.queue_bytes_most = 50'000'000;
    } else {
      tight.queue_messages_most = 50;
    }
    Node server(tight);
    Node worker(options(kWorker));
    worker.connect(kServer, server.listen(any_address()));
    ASSERT_TRUE(server.wait_for_event("up worker 3"));
    const Payload payload = random_payload(server.pool, 1'000'000, 1);
    server.on_loop([&](Transport& t) {  // no turn of the loop between: nothing gets away
      for (int i = 0; i < 40; ++i) t.send(kWorker, wire::Ping{}, payload);
      EXPECT_TRUE(t.linked(kWorker));
      for (int i = 0; i < 40; ++i) t.send(kWorker, wire::Ping{}, payload);
      EXPECT_FALSE(t.linked(kWorker));
    });
    ASSERT_TRUE(server.wait_for_event("down worker 3"));
    EXPECT_THAT(server.reasons()[0], HasSubstr("too slow"));
    EXPECT_TRUE(server.wait_for_event("up worker 3", 2));  // the caller comes back
    EXPECT_LE(server.counters().messages_out, 60U);
  }
}

// The bound is for what waits, not for what has ever been sent.
TEST_P(TransportContract, WhatIsWrittenNoLongerCountsForTheQueue) {
  TransportOptions tight = options(kServer);
  tight.queue_bytes_most = 1'000'000;
  Node server(tight);
  Node worker(options(kWorker));
  worker.connect(kServer, server.listen(any_address()));
  ASSERT_TRUE(server.wait_for_event("up worker 3"));
  const Payload payload = random_payload(server.pool, 400'000, 1);
  for (std::size_t i = 1; i <= 20; ++i) {
    server.on_loop([&](Transport& t) {
      t.send(kWorker, wire::Ping{}, payload);
      t.send(kWorker, wire::Ping{}, payload);
    });
    ASSERT_TRUE(worker.wait_for_messages(2 * i));
    ASSERT_TRUE(server.wait([&] { return server.counters().bytes_out > 800'000 * i; }));
  }
  EXPECT_THAT(server.events(), ElementsAre("up worker 3"));
}

// A single message may be larger than the bound: it must be possible to send it at all.
TEST_P(TransportContract, OneMessageAlwaysFitsTheQueue) {
  TransportOptions tight = options(kServer);
  tight.queue_bytes_most = 10;
  Node server(tight);
  Node worker(options(kWorker));
  worker.connect(kServer, server.listen(any_address()));
  ASSERT_TRUE(server.wait_for_event("up worker 3"));
  ASSERT_TRUE(server.wait([&] {  // its own handshake has left the queue
    return server.counters().bytes_out >= wire::kHelloBytes + wire::kProofBytes;
  }));
  server.send(kWorker, wire::Ping{}, random_payload(server.pool, 100'000, 1));
  EXPECT_TRUE(worker.wait_for_messages(1));
}

TEST_P(TransportContract, RefusesToSendWhatNobodyWouldTake) {
  TransportOptions tight = options(kServer);
  tight.limits.payload_bytes = 1000;
  Node server(tight);
  Node worker(options(kWorker));
  worker.connect(kServer, server.listen(any_address()));
  ASSERT_TRUE(server.wait_for_event("up worker 3"));
  server.send(kWorker, wire::Ping{}, random_payload(server.pool, 1001, 1));
  ASSERT_TRUE(server.wait_for_event("down worker 3"));
  EXPECT_THAT(server.reasons()[0], HasSubstr("limits"));
}

// A proven peer gone mad is cut off before its payload takes memory.
TEST_P(TransportContract, APayloadAboveTheLimitBreaksTheLink) {
  TransportOptions tight = options(kServer);
  tight.limits.payload_bytes = 1000;
  Node server(tight);
  Node worker(options(kWorker));
  worker.connect(kServer, server.listen(any_address()));
  ASSERT_TRUE(worker.wait_for_event("up server 0"));
  worker.send(kServer, wire::Ping{}, random_payload(worker.pool, 1001, 1));
  ASSERT_TRUE(server.wait_for_event("down worker 3"));
  EXPECT_THAT(server.reasons()[0], HasSubstr("payload"));
  EXPECT_TRUE(server.got().empty());
  EXPECT_EQ(server.pool.statistics().taken, 0U);
}

TEST_P(TransportContract, DisconnectSendsWhatWasSaidAndStaysAway) {
  Node server(options(kServer));
  Node worker(options(kWorker));
  worker.connect(kServer, server.listen(any_address()));
  ASSERT_TRUE(worker.wait_for_event("up server 0"));
  ASSERT_TRUE(server.wait_for_event("up worker 3"));
  const Payload payload = random_payload(worker.pool, 5'000'000, 1);
  worker.on_loop([&](Transport& t) {
    t.send(kServer, wire::Ping{1}, payload);
    t.send(kServer, wire::Goodbye{});
    t.disconnect(kServer);
    EXPECT_FALSE(t.linked(kServer));
    t.send(kServer, wire::Ping{2});
  });
  ASSERT_TRUE(server.wait_for_event("down worker 3"));
  ASSERT_EQ(server.got().size(), 2U);
  EXPECT_TRUE(same_bytes(server.got()[0].payload, payload));
  EXPECT_EQ(server.got()[1].message, wire::Message{wire::Goodbye{}});
  EXPECT_THAT(worker.events(), ElementsAre("up server 0"));  // it asked for it
  EXPECT_EQ(server.counters().links, 1U);
}

TEST_P(TransportContract, DisconnectInTheMiddleOfWhatIsReceived) {
  Node server(options(kServer));
  Node worker(options(kWorker));
  worker.on_message = [&](NodeId from, const wire::Message&, const Payload&) {
    worker.on_loop_now([from](Transport& t) { t.disconnect(from); });
  };
  worker.connect(kServer, server.listen(any_address()));
  ASSERT_TRUE(server.wait_for_event("up worker 3"));
  server.on_loop([](Transport& t) {
    for (int i = 0; i < 10; ++i) t.send(kWorker, wire::Ping{});
  });
  ASSERT_TRUE(server.wait_for_event("down worker 3"));
  ASSERT_TRUE(worker.wait_for_messages(1));
  EXPECT_EQ(worker.got().size(), 1U);
}

TEST_P(TransportContract, AnotherAddressForAPeerIsTaken) {
  Node server(options(kServer));
  Node worker(options(kWorker));
  std::string gone;
  {
    Node first(options(kServer));
    gone = first.listen(any_address());
  }
  worker.connect(kServer, gone);
  worker.connect(kServer, server.listen(any_address()));
  EXPECT_TRUE(worker.wait_for_event("up server 0"));
}

TEST_P(TransportContract, FlushWaitsUntilAllIsWithTheSystem) {
  Node server(options(kServer));
  auto worker = std::make_unique<Node>(options(kWorker));
  worker->connect(kServer, server.listen(any_address()));
  ASSERT_TRUE(worker->wait_for_event("up server 0"));
  ASSERT_TRUE(server.wait_for_event("up worker 3"));
  const Payload payload = random_payload(worker->pool, 30'000'000, 1);
  std::promise<std::uint64_t> flushed;
  worker->on_loop([&](Transport& t) {
    t.send(kServer, wire::Ping{1}, payload);
    t.flush(testing::kDeadline, [&] { flushed.set_value(t.counters().bytes_out); });
  });
  EXPECT_GT(flushed.get_future().get(), size_of(payload));
  worker.reset();  // at once, as a process that ends
  ASSERT_TRUE(server.wait_for_event("down worker 3"));
  ASSERT_EQ(server.got().size(), 1U);
  EXPECT_TRUE(same_bytes(server.got()[0].payload, payload));
}

TEST_P(TransportContract, FlushGivesUpAtItsDeadline) {
  Node server(options(kServer));
  Node worker(options(kWorker));
  worker.connect(kServer, server.listen(any_address()));
  ASSERT_TRUE(worker.wait_for_event("up server 0"));
  ASSERT_TRUE(server.wait_for_event("up worker 3"));
  std::promise<void> go_on;
  ASSERT_TRUE(server.loop.post([wait = go_on.get_future().share()] { wait.wait(); }));
  const Payload payload = random_payload(worker.pool, 50'000'000, 1);
  std::promise<bool> flushed;
  worker.on_loop([&](Transport& t) {
    t.send(kServer, wire::Ping{1}, payload);
    t.flush(std::chrono::milliseconds(20), [&] { flushed.set_value(t.linked(kServer)); });
  });
  EXPECT_TRUE(flushed.get_future().get());  // before the link is given up
  EXPECT_TRUE(server.got().empty());
  go_on.set_value();
}

// A program that a process starts does not keep its links open when it dies.
TEST_P(TransportContract, SocketsStayWithTheirProcess) {
  Node server(options(kServer));
  Node worker(options(kWorker));
  worker.connect(kServer, server.listen(any_address()));
  ASSERT_TRUE(worker.wait_for_event("up server 0"));
  ASSERT_TRUE(server.wait_for_event("up worker 3"));
  // By what the system says: asking the sockets themselves would race with their loops.
  int sockets = 0;
  for (int file = 3; file < 256; ++file) {
    std::error_code error;
    const auto what = std::filesystem::read_symlink(cat("/proc/self/fd/", file), error);
    if (error || !what.string().starts_with("socket:")) continue;
    std::ifstream info(cat("/proc/self/fdinfo/", file));
    std::string word;
    std::uint32_t flags = 0;
    while (info >> word && word != "flags:") {
    }
    if (!(info >> std::oct >> flags)) continue;  // closed meanwhile
    ++sockets;
    EXPECT_NE(flags & static_cast<std::uint32_t>(O_CLOEXEC), 0U) << file;
  }
  EXPECT_GE(sockets, 3);  // one listens, two are the link's ends
}

// Every link is busy both ways and called anew while all stops: nothing hangs, nothing is touched
// afterwards (the sanitizers look).
TEST_P(TransportContract, StopsInTheMiddleOfEverything) {
  for (int round = 0; round < 5; ++round) {
    Node server(options(kServer));
    std::vector<std::unique_ptr<Node>> workers;
    const std::string address = server.listen(any_address());
    for (std::uint32_t i = 0; i < 4; ++i) {
      workers.push_back(std::make_unique<Node>(options(worker_node(WorkerId{i}))));
      workers.back()->connect(kServer, address);
      workers.back()->connect(kCoordinator, address);  // is not there: refused for ever
    }
    for (std::uint32_t i = 0; i < 4; ++i) {
      const NodeId worker = worker_node(WorkerId{i});
      ASSERT_TRUE(workers[i]->wait_for_event("up server 0"));
      const Payload payload = random_payload(server.pool, 3'000'000, 1);
      workers[i]->send(kServer, wire::Initialise{}, payload);
      server.on_loop([&](Transport& t) { t.send(worker, wire::Initialise{}, payload); });
    }
    if (round % 2 == 0) workers.clear();
    server.stop();
  }
}

// ---- a peer that is there and does not move: by a socket that we drive by hand ----

// Plays a proven worker on a plain socket, up to the end of the handshake.
RawSocket proven_worker(const std::string& address) {
  RawSocket socket = RawSocket::connected(address);
  wire::Nonce nonce{};
  nonce[0] = std::byte{9};
  auto handshake =
      wire::Handshake::initiator({kWorker, "job-1", testing::secret_of(1)}, kServer, nonce);
  socket.write(handshake.begin());
  while (handshake.wanted() > 0) {
    const std::string bytes = socket.read(handshake.wanted());
    if (bytes.empty()) break;
    const auto outcome = handshake.receive(std::as_bytes(std::span(bytes)));
    EXPECT_FALSE(outcome.error);
    socket.write(outcome.send);
  }
  EXPECT_TRUE(handshake.done());
  return socket;
}

class StalledPeer : public ::testing::TestWithParam<bool> {
 protected:
  std::string any_address() {
    return GetParam() ? "unix:" + (folder_ / "s") : std::string("127.0.0.1:0");
  }
  static TransportOptions hasty() {
    TransportOptions options = options_of(kServer);
    options.link_timeout = std::chrono::milliseconds(200);
    return options;
  }
  Folder folder_;
};
std::string name_of_stalled(const ::testing::TestParamInfo<bool>& param) {
  return param.param ? "Unix" : "Tcp";
}
INSTANTIATE_TEST_SUITE_P(All, StalledPeer, ::testing::Bool(), name_of_stalled);

TEST_P(StalledPeer, ThatTakesNoBytesLosesItsLink) {
  Node server(hasty());
  const RawSocket worker = proven_worker(server.listen(any_address()));
  ASSERT_TRUE(server.wait_for_event("up worker 3"));
  server.send(kWorker, wire::Ping{}, random_payload(server.pool, 30'000'000, 1));
  ASSERT_TRUE(server.wait_for_event("down worker 3"));
  EXPECT_THAT(server.reasons()[0], HasSubstr("worker 3"));
}

TEST_P(StalledPeer, ThatStopsWithinAMessageLosesItsLink) {
  Node server(hasty());
  RawSocket worker = proven_worker(server.listen(any_address()));
  worker.write(wire::encode_frame(wire::Initialise{}, 1000) + "only a part");
  ASSERT_TRUE(server.wait_for_event("down worker 3"));
  EXPECT_THAT(server.reasons()[0], HasSubstr("in the middle"));
}

TEST_P(StalledPeer, ThatHasNothingToSayKeepsItsLink) {
  Node server(hasty());
  RawSocket worker = proven_worker(server.listen(any_address()));
  ASSERT_TRUE(server.wait_for_event("up worker 3"));
  std::promise<void> later;
  server.on_loop([&](Transport&) {
    server.loop.set_timer_on_loop(1, server.loop.now() + std::chrono::milliseconds(600),
                                  [&later] { later.set_value(); });
  });
  later.get_future().wait();
  worker.write(wire::encode_frame(wire::Ping{7}, 0));
  EXPECT_TRUE(server.wait_for_messages(1));
  EXPECT_THAT(server.events(), ElementsAre("up worker 3"));
}

TEST_P(StalledPeer, ThatSpeaksNonsenseLosesItsLink) {
  Node server(hasty());
  const std::string address = server.listen(any_address());
  RawSocket worker = proven_worker(address);
  worker.write("this is no frame, whatever it is");
  ASSERT_TRUE(server.wait_for_event("down worker 3"));
  EXPECT_THAT(server.reasons()[0], HasSubstr("magic"));
  // A frame, but no message in it: field 15 is unknown.
  RawSocket again = proven_worker(address);
  const auto header = wire::encode_header({25, 2, 0});
  again.write(std::string(reinterpret_cast<const char*>(header.data()), header.size()) +
              "\x78\x01");
  ASSERT_TRUE(server.wait_for_event("down worker 3", 2));
  EXPECT_THAT(server.reasons()[1], HasSubstr("Ping"));
  EXPECT_TRUE(server.got().empty());
  EXPECT_EQ(server.counters().strangers, 0U);  // it had proven who it is
}

// ---- addresses ----

Error listen_error(const std::string& address) {
  Node node(options_of(kServer));
  const auto failed = node.on_loop([&](Transport& t) { return t.listen(address); });
  EXPECT_FALSE(failed) << address;
  return failed ? Error{} : failed.error();
}

TEST(TransportAddress, APortInUseIsNamedWithAWayOut) {
  Node first(options_of(kServer));
  const std::string address = first.listen("127.0.0.1:0");
  const Error error = listen_error(address);
  EXPECT_EQ(error.code, Code::Refused);
  EXPECT_THAT(error.what, HasSubstr(address));
  EXPECT_THAT(error.what, HasSubstr("in use"));
  EXPECT_THAT(error.fix, HasSubstr("0 for any that is free"));
}

TEST(TransportAddress, RefusesWhatIsNoAddress) {
  for (const std::string bad :
       {"", "7000", "host", "host:", "host:x", "host:65536", ":1", "::1:7", "unix:", "host:-1"}) {
    const Error error = listen_error(bad);
    EXPECT_EQ(error.code, Code::InvalidArgument) << bad;
    EXPECT_FALSE(error.fix.empty());
    Node node(options_of(kServer));
    EXPECT_FALSE(node.on_loop([&](Transport& t) { return t.connect(kWorker, bad); })) << bad;
  }
}

TEST(TransportAddress, NamesAPathThatIsTooLong) {
  const Error error = listen_error("unix:/tmp/" + std::string(200, 'x'));
  EXPECT_EQ(error.code, Code::InvalidArgument);
  EXPECT_THAT(error.what, HasSubstr("107"));
}

TEST(TransportAddress, HostsByNameAndIPv6) {
  Node server(options_of(kServer));
  Node worker(options_of(kWorker));
  const std::string address = server.listen("localhost:0");
  worker.connect(kServer, "localhost" + address.substr(address.rfind(':')));
  EXPECT_TRUE(worker.wait_for_event("up server 0"));

  const auto v6 = server.on_loop([](Transport& t) { return t.listen("[::1]:0"); });
  if (!v6) {  // a machine without IPv6 says so
    EXPECT_FALSE(v6.error().fix.empty());
    return;
  }
  Node other(options_of(worker_node(WorkerId{4})));
  other.connect(kServer, *v6);
  EXPECT_TRUE(other.wait_for_event("up server 0"));
}

TEST(TransportAddress, AHostThatNobodyKnowsIsTriedAgain) {
  // Longer than a name may be: known to be unknown without asking a name server.
  const std::string host(70, 'x');
  Node worker(options_of(kWorker));
  worker.connect(kServer, host + ":1");
  EXPECT_TRUE(worker.wait_for_log(host + ":1"));
}

TEST(TransportUnix, TheSocketIsOnlyForItsOwnerAndGoesWithIt) {
  const Folder folder;
  const std::string path = folder / "s";
  {
    Node server(options_of(kServer));
    EXPECT_EQ(server.listen("unix:" + path), "unix:" + path);
    struct stat made {};
    ASSERT_EQ(lstat(path.c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 0777U, 0600U);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

// A killed process leaves its socket's file; its successor takes the place.
TEST(TransportUnix, AStaleSocketIsRemovedALivingOneIsNot) {
  const Folder folder;
  const std::string path = folder / "s";
  {
    RawSocket dead(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_TRUE(dead.bind(path));
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  Node server(options_of(kServer));
  server.listen("unix:" + path);
  const Error error = listen_error("unix:" + path);
  EXPECT_EQ(error.code, Code::Refused);
  EXPECT_THAT(error.what, HasSubstr("another process listens"));
  Node worker(options_of(kWorker));
  worker.connect(kServer, "unix:" + path);
  EXPECT_TRUE(worker.wait_for_event("up server 0"));
}

TEST(TransportUnix, NeverRemovesAFileThatIsNoSocket) {
  const Folder folder;
  const std::string path = folder / "precious";
  std::ofstream(path) << "data";
  const Error error = listen_error("unix:" + path);
  EXPECT_EQ(error.code, Code::Refused);
  EXPECT_THAT(error.what, HasSubstr("no socket"));
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(listen_error("unix:" + (folder / "none/s")).code, Code::Refused);
}

}  // namespace
}  // namespace paceline::net
