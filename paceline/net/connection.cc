#include "paceline/net/connection.h"

#include <algorithm>
#include <utility>

#include <asio/post.hpp>

#include "paceline/base/text.h"

namespace paceline::net {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kBuffersMost = 64;  // what one writev takes from us

}  // namespace

Connection::Connection(std::uint64_t id, Owner& owner, const Setup& setup,
                       std::unique_ptr<Stream> stream, wire::Handshake handshake, bool called)
    : id_(id),
      owner_(&owner),
      setup_(setup),
      stream_(std::move(stream)),
      handshake_(std::move(handshake)),
      called_(called),
      peer_(handshake_->peer()),
      deadline_(stream_->socket().get_executor()),
      read_at_(Clock::now()),
      written_at_(read_at_) {}

void Connection::start() {
  set_deadline(setup_.handshake_timeout,
               {Code::DeadlineExceeded, "did not prove the job's secret in time"});
  stream_->secure(called_, [self = shared_from_this()](const std::error_code& error) {
    if (self->state_ != State::Securing) return;
    if (error) return self->close(stream_error(error));
    self->on_secured();
  });
}

void Connection::set_deadline(Duration timeout, Error why) {
  deadline_.expires_after(timeout);
  deadline_.async_wait(
      [self = shared_from_this(), why = std::move(why)](const std::error_code& cancelled) {
        const bool late = Clock::now() >= self->deadline_.expiry();  // not moved meanwhile
        if (!cancelled && late && self->state_ != State::Up) self->close(why);
      });
}

void Connection::on_secured() {
  state_ = State::Proving;
  if (std::string hello = handshake_->begin(); !hello.empty()) send(std::move(hello), nullptr);
  read_next();
}

// ---- reading ----

std::span<std::byte> Connection::space() {
  if (state_ == State::Up) return reader_->space();
  if (state_ == State::Leaving) return small_;
  return std::span(small_).first(std::min(small_.size(), handshake_->wanted()));
}

void Connection::read_next() {
  stream_->read_some(space(),
                     [self = shared_from_this()](const std::error_code& error, std::size_t n) {
                       self->on_read(error, n);
                     });
}

void Connection::on_read(const std::error_code& error, std::size_t n) {
  if (state_ == State::Closed) return;
  if (error && state_ == State::Leaving) return close(leaving_because_);
  if (error) {
    Error why = stream_error(error);
    if (state_ == State::Proving && why.fix.empty()) {
      why.what += " before it proved the job's secret";
      why.fix = "is TLS on at both ends, or at none?";
    }
    return close(why);
  }
  read_at_ = Clock::now();
  setup_.counters.bytes_in += n;
  if (state_ == State::Proving) {
    on_proving(std::span(small_).first(n));
  } else if (state_ == State::Up) {
    reader_->commit(n);
    take_frames();
  }
  if (state_ != State::Closed) read_next();
}

void Connection::on_proving(std::span<const std::byte> bytes) {
  auto outcome = handshake_->receive(bytes);
  if (!outcome.send.empty()) send(std::move(outcome.send), nullptr);
  if (state_ == State::Closed) return;
  peer_ = handshake_->peer();
  if (outcome.error) return leave(std::move(*outcome.error));
  if (handshake_->done()) become_up();
}

void Connection::become_up() {
  state_ = State::Up;
  deadline_.cancel();
  handshake_.reset();
  reader_.emplace(setup_.limits, setup_.pool);
  ++setup_.counters.links;
  owner_->on_proven(*this);
}

void Connection::take_frames() {
  while (state_ == State::Up) {  // whoever gets a frame may close us
    auto frame = reader_->next();
    if (!frame) return close({Code::Corruption, cat("sent ", frame.error().what)});
    if (!*frame) return;
    ++setup_.counters.messages_in;
    setup_.counters.payload_bytes_in += size_of((*frame)->payload);
    owner_->on_frame(*this, std::move(**frame));
  }
}

// ---- writing ----

void Connection::send(std::string head, Payload payload) {
  if (state_ == State::Closed || state_ == State::Leaving) return;
  if (outbox_.empty()) written_at_ = Clock::now();
  queued_bytes_ += head.size() + size_of(payload);
  outbox_.push_back({std::move(head), std::move(payload)});
  write_next();
}

void Connection::write_next() {
  if (writing_ || outbox_.empty()) return;
  gathered_.clear();
  std::size_t skip = front_written_;
  const auto gather = [&](const void* data, std::size_t size) {
    const std::size_t n = std::min(skip, size);
    skip -= n;
    if (size > n) gathered_.emplace_back(static_cast<const std::byte*>(data) + n, size - n);
  };
  for (const Outgoing& next : outbox_) {
    if (gathered_.size() + 2 > kBuffersMost) break;
    gather(next.head.data(), next.head.size());
    if (next.payload) gather(next.payload->bytes().data(), next.payload->bytes().size());
  }
  writing_ = true;
  stream_->write_some(gathered_,
                      [self = shared_from_this()](const std::error_code& error, std::size_t n) {
                        self->on_written(error, n);
                      });
}

void Connection::drop_written(std::size_t n) {
  queued_bytes_ -= n;
  front_written_ += n;
  while (!outbox_.empty()) {
    const Outgoing& front = outbox_.front();
    const std::size_t size = front.head.size() + size_of(front.payload);
    if (front_written_ < size) return;
    front_written_ -= size;
    outbox_.pop_front();
  }
}

void Connection::on_written(const std::error_code& error, std::size_t n) {
  writing_ = false;
  if (state_ == State::Closed) return;
  if (error) {
    // A peer that refuses us says why before it closes: that is still there to be read.
    if (state_ == State::Proving) return;
    return close(state_ == State::Leaving ? leaving_because_ : stream_error(error));
  }
  written_at_ = Clock::now();
  setup_.counters.bytes_out += n;
  drop_written(n);
  if (outbox_.empty() && state_ == State::Leaving) return stream_->end_writing();
  write_next();
}

// ---- the end ----

void Connection::leave(Error why) {
  if (state_ == State::Closed || state_ == State::Leaving) return;
  // Whoever called has nothing to explain.
  if (outbox_.empty() && !up()) return close(why);
  state_ = State::Leaving;
  leaving_because_ = why;
  set_deadline(setup_.leave_timeout, std::move(why));
  if (outbox_.empty()) stream_->end_writing();
}

void Connection::shut() {
  state_ = State::Closed;
  deadline_.cancel();
  stream_->close();
  if (!writing_) outbox_.clear();  // else the kernel or TLS may still read it
  queued_bytes_ = 0;
}

void Connection::close(const Error& why) {
  if (state_ == State::Closed) return;
  shut();
  if (owner_ != nullptr) owner_->on_closed(*this, why);
}

void Connection::break_later(const Error& why) {
  if (state_ == State::Closed) return;
  shut();
  asio::post(deadline_.get_executor(), [self = shared_from_this(), why] {
    if (self->owner_ != nullptr) self->owner_->on_closed(*self, why);
  });
}

void Connection::abandon() {
  owner_ = nullptr;
  if (state_ != State::Closed) shut();
}

void Connection::check_progress(Clock::time_point limit) {
  if (state_ != State::Up) return;
  if (!outbox_.empty() && written_at_ < limit) {
    close({Code::Unavailable, "takes no bytes any more"});
  } else if (reader_->mid_frame() && read_at_ < limit) {
    close({Code::Unavailable, "stopped in the middle of a message"});
  }
}

}  // namespace paceline::net
