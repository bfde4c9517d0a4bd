// The links of one process. The loop's thread owns all of it but the counters.
//
// Impl outlives its Transport while completions are under way; `closed_` tells them so.
#include "paceline/net/transport.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <asio/connect.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paceline/base/check.h"
#include "paceline/base/text.h"
#include "paceline/net/address.h"
#include "paceline/net/connection.h"
#include "paceline/wire/codec.h"
#include "paceline/wire/frame.h"

namespace paceline::net {
namespace {

using Tcp = asio::ip::tcp;
using Local = asio::local::stream_protocol;
using Clock = std::chrono::steady_clock;

constexpr Duration kAcceptPause = std::chrono::milliseconds(100);
constexpr std::size_t kWarningsMost = 64;  // different ones that are said aloud

wire::Nonce fresh_nonce() {
  wire::Nonce nonce;
  const int drawn =
      RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), static_cast<int>(nonce.size()));
  PACELINE_CHECK(drawn == 1, "the system gives random bytes");
  return nonce;
}

Error cannot_listen(const std::string& address, const std::error_code& error) {
  std::string fix = "choose another address";
  if (error == asio::error::address_in_use) {
    fix = "choose another port, or 0 for any that is free";
  } else if (error == asio::error::access_denied) {
    fix = "choose a port above 1023, or a folder that can be written";
  }
  return {Code::Refused, cat("cannot listen at ", address, ": ", stream_error(error).what),
          std::move(fix)};
}

// A listening socket; its file goes with it.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void close() = 0;
};

template <typename Protocol>
class ProtocolListener final : public Listener {
 public:
  explicit ProtocolListener(asio::io_context& io) : acceptor(io), pause(io) {}
  void close() override {
    std::error_code ignored;
    acceptor.close(ignored);
    pause.cancel();
    struct stat now {};
    const bool ours = !path.empty() && lstat(path.c_str(), &now) == 0 && now.st_ino == inode;
    if (ours) unlink(path.c_str());
  }

  typename Protocol::acceptor acceptor;
  asio::steady_timer pause;  // before accepting again when the system refused
  std::string path;          // of a Unix socket
  ino_t inode = 0;
};

}  // namespace

class Transport::Impl final : public Connection::Owner, public std::enable_shared_from_this<Impl> {
 public:
  Impl(EventLoop& loop, TransportOptions options, BufferPool& pool, Handlers handlers)
      : loop_(loop),
        options_(std::move(options)),
        handlers_(std::move(handlers)),
        identity_{options_.self, options_.job, options_.secret},
        setup_{options_.limits, pool, counters_, options_.handshake_timeout, options_.link_timeout},
        sweep_(loop.context()) {}

  void start() { sweep_on_loop(); }
  void close();

  Result<std::string> listen(const std::string& text);
  Status connect(NodeId peer, const std::string& text);
  void disconnect(NodeId peer);
  void send(NodeId to, const wire::Message& message, Payload payload);
  bool linked(NodeId peer) const;
  void flush(Duration deadline, std::function<void()> done);
  Counters counters() const;

  void on_proven(Connection& connection) override;
  void on_frame(Connection& connection, wire::Frame frame) override;
  void on_closed(Connection& connection, const Error& why) override;

 private:
  using ConnectionPtr = std::shared_ptr<Connection>;

  // Reaching a peer, again and again.
  struct Calling {
    explicit Calling(asio::io_context& io) : timer(io), resolver(io), tcp(io), local(io) {}
    Address address;
    std::uint64_t attempt = 0;  // of the try that counts; completions of others are late
    Duration pause{};           // before the next try
    Clock::time_point linked_at{};
    asio::steady_timer timer;  // the pause, or the deadline of the try
    Tcp::resolver resolver;
    Tcp::socket tcp;
    Local::socket local;
    ConnectionPtr proving;
    std::string last_trouble;
  };
  struct Peer {
    ConnectionPtr link;  // proven; may be closed with its on_closed still to come
    std::unique_ptr<Calling> calling;
  };
  struct Flush {
    explicit Flush(asio::io_context& io) : timer(io) {}
    asio::steady_timer timer;
    std::function<void()> done;
    Clock::time_point deadline;
  };

  asio::io_context& io() { return loop_.context(); }
  void log(LogLevel level, const std::string& text) {
    if (handlers_.on_log) handlers_.on_log(level, text);
  }
  void warn_once(const std::string& text);

  Result<std::string> listen_tcp(const Address& address);
  Result<std::string> listen_unix(const Address& address);
  static Status clear_stale_socket(asio::io_context& io, const Address& address);
  template <typename Protocol>
  void accept_on_loop(std::shared_ptr<ProtocolListener<Protocol>> listener);
  void accepted_on_loop(Socket socket, bool tls);
  ConnectionPtr make_connection(Socket socket, bool tls, wire::Handshake handshake, bool called);

  void call_on_loop(NodeId peer);
  void call_tcp_on_loop(NodeId peer, Calling& calling);
  void call_unix_on_loop(NodeId peer, Calling& calling);
  void reached_on_loop(NodeId peer, std::uint64_t attempt, const std::error_code& error);
  void trouble_on_loop(NodeId peer, Calling& calling, const Error& why);
  void call_later_on_loop(NodeId peer, Calling& calling);
  Calling* calling_of(NodeId peer, std::uint64_t attempt);
  static void stop_calling(Calling& calling);

  void link_lost_on_loop(NodeId peer, const std::string& why);
  void sweep_on_loop();
  void check_flush_on_loop(const std::shared_ptr<Flush>& flush);

  EventLoop& loop_;
  TransportOptions options_;
  Handlers handlers_;
  wire::HandshakeIdentity identity_;
  AtomicCounters counters_;
  Connection::Setup setup_;
  asio::steady_timer sweep_;
  bool closed_ = false;
  std::uint64_t last_id_ = 0;
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::map<std::uint64_t, ConnectionPtr> unproven_;  // accepted; the oldest first
  std::map<std::uint64_t, ConnectionPtr> leaving_;
  std::map<NodeId, Peer> peers_;
  std::set<std::string> warned_;
};

// ---- listening ----

Result<std::string> Transport::Impl::listen(const std::string& text) {
  const auto address = parse_address(text);
  if (!address) return fail(address.error());
  return address->kind == Address::Kind::Tcp ? listen_tcp(*address) : listen_unix(*address);
}

Result<std::string> Transport::Impl::listen_tcp(const Address& address) {
  std::error_code error;
  Tcp::resolver resolver(io());
  const auto found =
      resolver.resolve(address.host, std::to_string(address.port), Tcp::resolver::passive, error);
  if (error) return fail(cannot_listen(to_string(address), error));
  const Tcp::endpoint endpoint = found.begin()->endpoint();
  auto listener = std::make_shared<ProtocolListener<Tcp>>(io());
  Tcp::acceptor& acceptor = listener->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) keep_from_children(acceptor.native_handle());
  if (!error) acceptor.set_option(Tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return fail(cannot_listen(to_string(address), error));
  const Address actual{Address::Kind::Tcp,
                       endpoint.address().to_string(),
                       acceptor.local_endpoint(error).port(),
                       {}};
  listeners_.push_back(listener);
  accept_on_loop(std::move(listener));
  return to_string(actual);
}

// A socket's file stays when its process is killed: away with it if nobody listens there.
Status Transport::Impl::clear_stale_socket(asio::io_context& io, const Address& address) {
  struct stat there {};
  if (lstat(address.path.c_str(), &there) != 0) return {};
  if (!S_ISSOCK(there.st_mode)) {
    return fail(Code::Refused, cat(address.path, " is there already and is no socket"),
                "choose another path for the socket");
  }
  std::error_code error;
  Local::socket probe(io);
  probe.connect(Local::endpoint(address.path), error);
  if (error != asio::error::connection_refused) {
    return fail(Code::Refused, cat("another process listens at ", to_string(address)),
                "stop it, or choose another path");
  }
  unlink(address.path.c_str());
  return {};
}

Result<std::string> Transport::Impl::listen_unix(const Address& address) {
  if (const auto cleared = clear_stale_socket(io(), address); !cleared) {
    return fail(cleared.error());
  }
  std::error_code error;
  auto listener = std::make_shared<ProtocolListener<Local>>(io());
  listener->acceptor.open(Local(), error);
  if (!error) keep_from_children(listener->acceptor.native_handle());
  if (!error) listener->acceptor.bind(Local::endpoint(address.path), error);
  if (error) return fail(cannot_listen(to_string(address), error));
  listener->path = address.path;
  struct stat made {};
  if (lstat(address.path.c_str(), &made) == 0) listener->inode = made.st_ino;
  // Not yet listening: nobody came in before this.
  if (chmod(address.path.c_str(), 0600) == 0) {
    listener->acceptor.listen(asio::socket_base::max_listen_connections, error);
  } else {
    error = std::error_code(errno, std::system_category());
  }
  if (error) {
    listener->close();
    return fail(cannot_listen(to_string(address), error));
  }
  listeners_.push_back(listener);
  accept_on_loop(std::move(listener));
  return to_string(address);
}

template <typename Protocol>
void Transport::Impl::accept_on_loop(std::shared_ptr<ProtocolListener<Protocol>> listener) {
  auto& acceptor = listener->acceptor;
  acceptor.async_accept(
      [self = shared_from_this(), listener = std::move(listener)](
          const std::error_code& error, typename Protocol::socket socket) mutable {
        if (self->closed_) return;
        if (!error) {
          self->accepted_on_loop(Socket(std::move(socket)), std::is_same_v<Protocol, Tcp>);
          return self->accept_on_loop(std::move(listener));
        }
        // Out of file descriptors, most likely: not in a circle without rest.
        self->warn_once(cat("cannot accept a connection: ", stream_error(error).what));
        auto& pause = listener->pause;
        pause.expires_after(kAcceptPause);
        pause.async_wait([self, listener = std::move(listener)](const std::error_code&) {
          if (!self->closed_) self->accept_on_loop(listener);
        });
      });
}

Transport::Impl::ConnectionPtr Transport::Impl::make_connection(Socket socket, bool tls,
                                                                wire::Handshake handshake,
                                                                bool called) {
  keep_from_children(socket.native_handle());
  tune_tcp(socket, std::chrono::ceil<std::chrono::milliseconds>(options_.link_timeout));
  auto stream = tls && options_.tls ? make_tls_stream(std::move(socket), options_.tls)
                                    : make_plain_stream(std::move(socket));
  return std::make_shared<Connection>(++last_id_, *this, setup_, std::move(stream),
                                      std::move(handshake), called);
}

void Transport::Impl::accepted_on_loop(Socket socket, bool tls) {
  if (unproven_.size() >= options_.unproven_most) {
    ++counters_.strangers;
    unproven_.begin()->second->abandon();
    unproven_.erase(unproven_.begin());
  }
  auto connection = make_connection(std::move(socket), tls,
                                    wire::Handshake::acceptor(identity_, fresh_nonce()), false);
  unproven_.emplace(connection->id(), connection);
  connection->start();
}

// ---- calling ----

Status Transport::Impl::connect(NodeId peer, const std::string& text) {
  auto address = parse_address(text);
  if (!address) return fail(address.error());
  auto& calling = peers_[peer].calling;
  if (calling && calling->address == *address) return {};
  if (calling) stop_calling(*calling);
  calling = std::make_unique<Calling>(io());
  calling->address = std::move(*address);
  calling->pause = options_.retry_first;
  calling->attempt = ++last_id_;
  if (linked(peer)) return {};
  asio::post(io(), [self = shared_from_this(), peer, attempt = calling->attempt] {
    if (self->calling_of(peer, attempt) != nullptr) self->call_on_loop(peer);
  });
  return {};
}

Transport::Impl::Calling* Transport::Impl::calling_of(NodeId peer, std::uint64_t attempt) {
  if (closed_) return nullptr;
  const auto found = peers_.find(peer);
  if (found == peers_.end() || !found->second.calling) return nullptr;
  Calling* calling = found->second.calling.get();
  return calling->attempt == attempt ? calling : nullptr;
}

void Transport::Impl::stop_calling(Calling& calling) {
  std::error_code ignored;
  calling.attempt = 0;
  calling.timer.cancel();
  calling.resolver.cancel();
  calling.tcp.close(ignored);
  calling.local.close(ignored);
  if (auto proving = std::exchange(calling.proving, nullptr)) proving->abandon();
}

void Transport::Impl::call_on_loop(NodeId peer) {
  Calling& calling = *peers_.at(peer).calling;
  stop_calling(calling);
  calling.attempt = ++last_id_;
  calling.timer.expires_after(options_.handshake_timeout);
  calling.timer.async_wait([self = shared_from_this(), peer,
                            attempt = calling.attempt](const std::error_code& cancelled) {
    if (!cancelled) self->reached_on_loop(peer, attempt, asio::error::timed_out);
  });
  if (calling.address.kind == Address::Kind::Tcp) {
    call_tcp_on_loop(peer, calling);
  } else {
    call_unix_on_loop(peer, calling);
  }
}

void Transport::Impl::call_tcp_on_loop(NodeId peer, Calling& calling) {
  const auto reached = [self = shared_from_this(), peer, attempt = calling.attempt](
                           const std::error_code& error, const auto&...) {
    self->reached_on_loop(peer, attempt, error);
  };
  std::error_code no_number;
  const auto numeric = asio::ip::make_address(calling.address.host, no_number);
  if (!no_number) {
    calling.tcp.async_connect(Tcp::endpoint(numeric, calling.address.port), reached);
    return;
  }
  calling.resolver.async_resolve(
      calling.address.host, std::to_string(calling.address.port),
      [self = shared_from_this(), peer, attempt = calling.attempt, reached](
          const std::error_code& error, const Tcp::resolver::results_type& found) {
        Calling* mine = self->calling_of(peer, attempt);
        if (mine == nullptr) return;
        if (error) return self->reached_on_loop(peer, attempt, error);
        asio::async_connect(mine->tcp, found, reached);
      });
}

void Transport::Impl::call_unix_on_loop(NodeId peer, Calling& calling) {
  calling.local.async_connect(
      Local::endpoint(calling.address.path),
      [self = shared_from_this(), peer, attempt = calling.attempt](const std::error_code& error) {
        self->reached_on_loop(peer, attempt, error);
      });
}

void Transport::Impl::reached_on_loop(NodeId peer, std::uint64_t attempt,
                                      const std::error_code& error) {
  Calling* calling = calling_of(peer, attempt);
  if (calling == nullptr) return;
  if (error) {
    return trouble_on_loop(peer, *calling,
                           {Code::Unavailable, stream_error(error).what, "is it running?"});
  }
  calling->timer.cancel();
  const bool tcp = calling->address.kind == Address::Kind::Tcp;
  Socket socket = tcp ? Socket(std::move(calling->tcp)) : Socket(std::move(calling->local));
  calling->proving = make_connection(
      std::move(socket), tcp, wire::Handshake::initiator(identity_, peer, fresh_nonce()), true);
  calling->proving->start();
}

void Transport::Impl::trouble_on_loop(NodeId peer, Calling& calling, const Error& why) {
  const std::uint64_t attempt = calling.attempt;
  const std::string text =
      cat(to_string(peer), " at ", to_string(calling.address), ": ", to_string(why));
  if (text != std::exchange(calling.last_trouble, text)) {
    log(why.code == Code::Unavailable ? LogLevel::Info : LogLevel::Warning, text);
  }
  // Whoever got the log may have stopped it.
  if (Calling* mine = calling_of(peer, attempt)) call_later_on_loop(peer, *mine);
}

void Transport::Impl::call_later_on_loop(NodeId peer, Calling& calling) {
  stop_calling(calling);
  calling.attempt = ++last_id_;
  calling.timer.expires_after(calling.pause);
  calling.pause = std::min(2 * calling.pause, options_.retry_last);
  calling.timer.async_wait([self = shared_from_this(), peer,
                            attempt = calling.attempt](const std::error_code& cancelled) {
    if (!cancelled && self->calling_of(peer, attempt) != nullptr) self->call_on_loop(peer);
  });
}

void Transport::Impl::disconnect(NodeId peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  Peer gone = std::move(found->second);
  peers_.erase(found);
  if (gone.calling) stop_calling(*gone.calling);
  if (gone.link && gone.link->up()) {
    leaving_.emplace(gone.link->id(), gone.link);
    gone.link->leave({Code::Cancelled, "is not wanted any more"});
  }
}

// ---- links ----

void Transport::Impl::on_proven(Connection& connection) {
  const NodeId peer = connection.peer();
  Peer& entry = peers_[peer];
  ConnectionPtr proven;
  if (connection.called()) {
    proven = std::exchange(entry.calling->proving, nullptr);
  } else if (const auto found = unproven_.find(connection.id()); found != unproven_.end()) {
    proven = found->second;
    unproven_.erase(found);
  }
  PACELINE_CHECK(proven.get() == &connection, "only our own connections are proven");
  if (entry.calling) {
    stop_calling(*entry.calling);
    entry.calling->last_trouble.clear();
    entry.calling->linked_at = Clock::now();
  }
  const ConnectionPtr old = std::exchange(entry.link, proven);
  if (old) {
    old->abandon();
    if (handlers_.on_down) handlers_.on_down(peer, "a newer connection took its place");
  }
  // on_down may have disconnected it.
  if (proven->up() && handlers_.on_up) handlers_.on_up(peer);
}

void Transport::Impl::on_frame(Connection& connection, wire::Frame frame) {
  const NodeId peer = connection.peer();
  auto message = wire::decode(frame.type, frame.head);
  if (!message) {
    log(LogLevel::Warning, cat(to_string(peer), " sent ", message.error().what));
    return connection.break_later({Code::Corruption, cat("sent ", message.error().what)});
  }
  if (handlers_.on_message) {
    handlers_.on_message(peer, std::move(*message), std::move(frame.payload));
  }
}

void Transport::Impl::on_closed(Connection& connection, const Error& why) {
  if (leaving_.erase(connection.id()) > 0) return;
  if (!connection.called() && unproven_.erase(connection.id()) > 0) {
    ++counters_.strangers;
    const std::string text = cat("refused a connection: ", to_string(why));
    return why.code == Code::Refused ? warn_once(text) : log(LogLevel::Debug, text);
  }
  const NodeId peer = connection.peer();
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  Peer& entry = found->second;
  if (entry.link.get() == &connection) return link_lost_on_loop(peer, to_string(why));
  if (entry.calling && entry.calling->proving.get() == &connection) {
    if (why.code != Code::Unavailable) ++counters_.refused;
    trouble_on_loop(peer, *entry.calling, why);
  }
}

void Transport::Impl::link_lost_on_loop(NodeId peer, const std::string& why) {
  Peer& entry = peers_.at(peer);
  entry.link = nullptr;
  if (entry.calling) {
    Calling& calling = *entry.calling;
    // One that breaks as soon as it is there does not start from the shortest pause again.
    const bool lasted = Clock::now() - calling.linked_at >= options_.retry_last;
    if (lasted) calling.pause = options_.retry_first;
    call_later_on_loop(peer, calling);
  } else {
    peers_.erase(peer);
  }
  if (handlers_.on_down) handlers_.on_down(peer, cat(to_string(peer), " ", why));
}

bool Transport::Impl::linked(NodeId peer) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() && found->second.link && found->second.link->up();
}

void Transport::Impl::send(NodeId to, const wire::Message& message, Payload payload) {
  if (!linked(to)) return;
  Connection& link = *peers_.at(to).link;
  const std::size_t payload_bytes = size_of(payload);
  std::string head = wire::encode_frame(message, payload_bytes);
  if (head.size() - wire::kFrameHeaderBytes > options_.limits.head_bytes ||
      payload_bytes > options_.limits.payload_bytes) {
    return link.break_later(
        {Code::InvalidArgument, cat("cannot be sent a ", wire::name_of(message), " of ",
                                    bytes_text(static_cast<double>(head.size() + payload_bytes)),
                                    ": more than the protocol's limits")});
  }
  const std::size_t bytes = link.queued_bytes() + head.size() + payload_bytes;
  const bool full = link.queued_messages() >= options_.queue_messages_most ||
                    (link.queued_messages() > 0 && bytes > options_.queue_bytes_most);
  if (full) {
    return link.break_later(
        {Code::Unavailable,
         cat("is too slow: ", link.queued_messages(), " messages (",
             bytes_text(static_cast<double>(link.queued_bytes())), ") wait for it")});
  }
  ++counters_.messages_out;
  counters_.payload_bytes_out += payload_bytes;
  link.send(std::move(head), payload_bytes > 0 ? std::move(payload) : nullptr);
}

// ---- the rest ----

void Transport::Impl::warn_once(const std::string& text) {
  const bool first = warned_.size() < kWarningsMost && warned_.insert(text).second;
  log(first ? LogLevel::Warning : LogLevel::Debug, text);
}

// Breaks links that should move bytes and do not. TCP has timers of its own; a Unix socket whose
// owner is frozen has none, nor has a peer whose system answers for it.
void Transport::Impl::sweep_on_loop() {
  sweep_.expires_after(options_.link_timeout / 4);
  sweep_.async_wait([self = shared_from_this()](const std::error_code&) {
    if (self->closed_) return;
    std::vector<ConnectionPtr> links;  // breaking one changes peers_
    for (const auto& [peer, entry] : self->peers_) {
      if (entry.link) links.push_back(entry.link);
    }
    // Three quarters of the time, and what is left until the sweep that sees it.
    const auto limit = Clock::now() - self->options_.link_timeout * 3 / 4;
    for (const ConnectionPtr& link : links) link->check_progress(limit);
    self->sweep_on_loop();
  });
}

void Transport::Impl::flush(Duration deadline, std::function<void()> done) {
  auto flush = std::make_shared<Flush>(io());
  flush->done = std::move(done);
  flush->deadline = Clock::now() + deadline;
  asio::post(io(), [self = shared_from_this(), flush] { self->check_flush_on_loop(flush); });
}

void Transport::Impl::check_flush_on_loop(const std::shared_ptr<Flush>& flush) {
  if (closed_) return;
  const bool empty = std::ranges::all_of(peers_,
                                         [](const auto& peer) {
                                           const ConnectionPtr& link = peer.second.link;
                                           return !link || link->queued_messages() == 0;
                                         }) &&
                     std::ranges::all_of(leaving_, [](const auto& one) {
                       return one.second->queued_messages() == 0;
                     });
  if (empty || Clock::now() >= flush->deadline) return flush->done();
  flush->timer.expires_after(std::chrono::milliseconds(1));
  flush->timer.async_wait([self = shared_from_this(), flush](const std::error_code&) {
    self->check_flush_on_loop(flush);
  });
}

void Transport::Impl::close() {
  closed_ = true;
  handlers_ = {};
  sweep_.cancel();
  for (const auto& listener : listeners_) listener->close();
  for (const auto& [id, connection] : unproven_) connection->abandon();
  for (const auto& [id, connection] : leaving_) connection->abandon();
  for (const auto& [peer, entry] : peers_) {
    if (entry.calling) stop_calling(*entry.calling);
    if (entry.link) entry.link->abandon();
  }
  unproven_.clear();
  leaving_.clear();
  peers_.clear();
}

Counters Transport::Impl::counters() const {
  const AtomicCounters& c = counters_;
  return {c.strangers,   c.refused,          c.links,
          c.messages_in, c.messages_out,     c.bytes_in,
          c.bytes_out,   c.payload_bytes_in, c.payload_bytes_out};
}

// ---- the face ----

Transport::Transport(EventLoop& loop, TransportOptions options, BufferPool& pool, Handlers handlers)
    : impl_(std::make_shared<Impl>(loop, std::move(options), pool, std::move(handlers))) {
  impl_->start();
}
Transport::~Transport() { impl_->close(); }
Result<std::string> Transport::listen(const std::string& address) { return impl_->listen(address); }
Status Transport::connect(NodeId peer, const std::string& address) {
  return impl_->connect(peer, address);
}
void Transport::disconnect(NodeId peer) { impl_->disconnect(peer); }
void Transport::send(NodeId peer, const wire::Message& message, Payload payload) {
  impl_->send(peer, message, std::move(payload));
}
bool Transport::linked(NodeId peer) const { return impl_->linked(peer); }
void Transport::flush(Duration deadline, std::function<void()> done) {
  impl_->flush(deadline, std::move(done));
}
Counters Transport::counters() const { return impl_->counters(); }

}  // namespace paceline::net
