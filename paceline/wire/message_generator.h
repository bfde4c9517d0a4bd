#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "paceline/base/random.h"
#include "paceline/wire/codec.h"

// Messages with random contents, for tests: every field, small values and the largest allowed.
namespace paceline::wire::testing {

class MessageGenerator {
 public:
  explicit MessageGenerator(Rng rng) : rng_(rng) {}

  // type: 1 to kTypes.
  Message message(std::uint32_t type) {
    return by_index(type - 1, std::make_index_sequence<kTypes>());
  }

 private:
  template <std::size_t... kIndices>
  Message by_index(std::size_t index, std::index_sequence<kIndices...>) {
    Message message;
    ((index == kIndices ? void(message = make<std::variant_alternative_t<kIndices, Message>>())
                        : void()),
     ...);
    return message;
  }

  template <typename M>
  M make() {
    M m;
    fill(m);
    return m;
  }

  std::uint64_t number() {
    switch (rng_.below(3)) {
      case 0:
        return rng_.below(4);
      case 1:
        return ~std::uint64_t{0} - rng_.below(2);
      default:
        return rng_.next() >> rng_.below(64);
    }
  }
  std::uint32_t index() {
    return static_cast<std::uint32_t>(rng_.chance(1, 4) ? kMaxIndex - 1 : rng_.below(5));
  }
  double real() { return (rng_.unit() - 0.5) * 1e6; }
  float single() { return static_cast<float>(real()); }
  bool flag() { return rng_.chance(1, 2); }
  std::string text() {
    std::string text(rng_.chance(1, 8) ? kMaxText : rng_.below(40), '\0');
    for (char& c : text) c = static_cast<char>(rng_.below(256));
    return text;
  }
  PushId push() { return {WorkerId{index()}, number(), number()}; }
  NodeId node() { return {static_cast<Role>(rng_.below(4)), index()}; }
  std::vector<PushId> pushes() {
    std::vector<PushId> list(rng_.below(6));
    for (PushId& item : list) item = push();
    return list;
  }
  std::uint64_t floats() { return rng_.below(kMaxFloats / 2 + 1); }

  void fill(Register& m) { m = {number(), text()}; }
  void fill(Join& m) { m = {number(), number(), floats(), number()}; }
  void fill(Welcome& m) {
    m = {number(), number(), {}, flag()};
    for (auto n = rng_.below(4); n > 0; --n) {
      m.shards.push_back({index(), text(), floats(), floats()});
    }
  }
  void fill(Expelled& m) { m = {number(), text()}; }
  void fill(Configure& m) {
    m = {floats(), floats(), text(), real(), flag(), real(), real(), real(), real(), flag()};
  }
  void fill(Initialise&) {}
  void fill(Initialised&) {}
  void fill(Ready& m) { m = {number()}; }
  void fill(Release& m) {
    m = {number(), number(), number(), number(), {}};
    for (auto n = rng_.below(200); n > 0; --n) m.samples.push_back(number());
  }
  void fill(Parameters& m) { m = {number(), number(), number()}; }
  void fill(Pull& m) { m = {number(), number()}; }
  void fill(Push& m) { m = {push()}; }
  void fill(PushAck& m) { m = {push()}; }
  void fill(PushQuery& m) { m = {push()}; }
  void fill(PushMissing& m) { m = {push()}; }
  void fill(PushRefused& m) { m = {push(), text()}; }
  void fill(Dropped& m) { m = {push()}; }
  void fill(Held& m) { m = {push()}; }
  void fill(Decide& m) {
    m = {number(), {}, pushes(), {}};
    for (auto n = rng_.below(4); n > 0; --n) {
      m.updates.push_back({pushes(), single(), std::nullopt});
      if (rng_.chance(1, 2)) m.updates.back().momentum = {single(), single(), single(), single()};
    }
    for (auto n = rng_.below(4); n > 0; --n) m.recipients.push_back({node(), number(), number()});
  }
  void fill(Decided& m) { m = {number(), number()}; }
  void fill(Progress& m) { m = {number(), number(), single(), number(), number(), number()}; }
  void fill(Ask& m) { m = {number(), number()}; }
  void fill(Evaluate& m) { m = {number(), number()}; }
  void fill(Evaluated& m) { m = {number(), number(), rng_.unit(), real()}; }
  void fill(Ping& m) { m = {number()}; }
  void fill(Pong& m) { m = {number()}; }
  void fill(Failed& m) { m = {static_cast<std::uint32_t>(rng_.below(256)), text()}; }
  void fill(Goodbye&) {}
  void fill(Finish& m) { m = {text()}; }

  Rng rng_;
};

}  // namespace paceline::wire::testing
