#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "paceline/base/bytes.h"
#include "paceline/base/hash.h"
#include "paceline/base/random.h"
#include "paceline/base/result.h"
#include "paceline/base/text.h"
#include "paceline/base/worker_table.h"

namespace paceline {
namespace {

// A seed means the same run on every machine, so the generator's values are part of the contract.
TEST(Rng, GivesThePublishedSequence) {
  Rng rng(0);
  EXPECT_EQ(rng.next(), 11091344671253066420U);
  EXPECT_EQ(rng.next(), 13793997310169335082U);
}

TEST(Rng, AStreamDependsOnItsNameAndNotOnWhatWasDrawn) {
  Rng a(7);
  const Rng b(7);
  a.next();
  EXPECT_EQ(a.stream("network").next(), b.stream("network").next());
  EXPECT_NE(a.stream("network").next(), b.stream("speed").next());
  EXPECT_NE(a.stream("network", 1).next(), a.stream("network", 2).next());
}

TEST(Rng, BelowReachesAllValuesAndNoOther) {
  Rng rng(1);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(rng.below(7));
  EXPECT_EQ(seen.size(), 7U);
  EXPECT_EQ(*seen.rbegin(), 6U);
  EXPECT_EQ(rng.between(-3, -3), -3);
}

TEST(Rng, ShuffleKeepsTheItems) {
  Rng rng(3);
  std::vector<int> items{1, 2, 3, 4, 5, 6, 7, 8};
  rng.shuffle(std::span(items));
  EXPECT_NE(items, (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}));
  std::ranges::sort(items);
  EXPECT_EQ(items, (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Text, NumbersAreTakenWholeOrNotAtAll) {
  EXPECT_EQ(parse_uint("42"), 42U);
  for (const auto* bad : {"", "-1", "+1", "4 ", "4x", "18446744073709551616"}) {
    EXPECT_FALSE(parse_uint(bad)) << bad;
  }
  EXPECT_EQ(parse_double("1e3"), 1000.0);
  EXPECT_FALSE(parse_double("1e3 "));
  EXPECT_EQ(fixed(2.345, 2), "2.35");
  EXPECT_EQ(cat("a", 1, 'b', 0.5, true, WorkerId{3}), "a1b0.5true3");
}

TEST(Text, TheNearestWordIsOffered) {
  const std::vector<std::string> words{"batch_size", "momentum", "lr", "train"};
  EXPECT_EQ(nearest("trian", words), "train") << "neighbours swapped are one mistake";
  EXPECT_EQ(nearest("batchsize", words), "batch_size");
  EXPECT_EQ(nearest("momentun", words), "momentum");
  EXPECT_EQ(nearest("zebra", words), "");
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ',').size(), 3U);
  EXPECT_EQ(split("", ',').size(), 1U);
  EXPECT_EQ(trim("  x y\n"), "x y");
}

TEST(Sha256, GivesTheStandardsExample) {  // FIPS 180-2, appendix B.1
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 hash;
  hash.update("a");
  hash.update("bc");
  EXPECT_EQ(hash.hex(), sha256_hex("abc"));
}

TEST(Result, AnErrorReadsAsOneSentence) {
  const Result<int> result = fail(Code::NotFound, "no file x", "make one", "demo.toml:3");
  ASSERT_FALSE(result);
  EXPECT_EQ(to_string(result.error()), "demo.toml:3: no file x; make one");
}

TEST(Bytes, FloatsOfABuffer) {
  HeapPool pool;
  const MutablePayload payload = pool.take(10);
  EXPECT_EQ(floats(payload).size(), 2U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(payload->bytes().data()) % 64, 0U);
  EXPECT_TRUE(floats(Payload{}).empty());
}

// An id that somebody made up must not cost a table up to it.
TEST(Text, PartsOfAPath) {
  EXPECT_EQ(stem_of("a/b.c.json"), "b.c");
  EXPECT_EQ(stem_of("b"), "b");
  EXPECT_EQ(stem_of("a.d/b"), "b");
  EXPECT_EQ(stem_of(".hidden"), ".hidden");
  EXPECT_EQ(stem_of(""), "");
  EXPECT_EQ(folder_of("a/b/c"), "a/b");
  EXPECT_EQ(folder_of("/c"), "");
  EXPECT_EQ(folder_of("c"), "");
}

TEST(WorkerTable, KeepsWhatIsSaidOfAnyId) {
  WorkerTable<int> table;
  const std::uint32_t ids[] = {
      3, 0, 1000, WorkerTable<int>::kDense - 1, WorkerTable<int>::kDense, 0xffffffff};
  EXPECT_EQ(table.find({3}), nullptr);
  int value = 0;
  for (const std::uint32_t id : ids) table[{id}] = ++value;
  value = 0;
  for (const std::uint32_t id : ids) {
    ASSERT_NE(table.find({id}), nullptr) << id;
    EXPECT_EQ(*table.find({id}), ++value) << id;
    EXPECT_EQ(table[{id}], value) << id;
  }
  EXPECT_EQ(*table.find({4}), 0);
  EXPECT_EQ(table.find({0xfffffffe}), nullptr);
  std::vector<int> seen;
  table.for_each([&](int each) {
    if (each != 0) seen.push_back(each);
  });
  EXPECT_EQ(seen, (std::vector<int>{2, 1, 3, 4, 5, 6})) << "by id, those far out as well";
}

}  // namespace
}  // namespace paceline
