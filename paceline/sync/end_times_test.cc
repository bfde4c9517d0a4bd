#include "paceline/sync/end_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::sync {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(EndTimes, ARowIsAWorker) {
  const auto ends = parse_end_times("1, 2,3\n+4\t5.5 \r\n", "e");
  ASSERT_TRUE(ends.has_value()) << to_string(ends.error());
  ASSERT_EQ(ends->rows().size(), 2U);
  EXPECT_THAT(ends->rows()[0], ElementsAre(1, 2, 3));
  EXPECT_THAT(ends->rows()[1], ElementsAre(4, 5.5));
}

TEST(EndTimes, AByteOrderMarkIsNoPartOfIt) {
  const auto ends = parse_end_times(
      "\xEF\xBB\xBF"
      "1 2\n",
      "e");
  ASSERT_TRUE(ends.has_value()) << to_string(ends.error());
  EXPECT_THAT(ends->ends, ElementsAre(1, 2));
}

TEST(EndTimes, WhatIsNoneIsNamedWithItsLine) {
  EXPECT_THAT(to_string(parse_end_times("1 2\n3 -\n", "e").error()),
              HasSubstr("e:2: value 2 is '-', no number"));
  EXPECT_THAT(to_string(parse_end_times("", "e").error()), HasSubstr("e: there is no row"));
  EXPECT_THAT(to_string(parse_end_times("1 1e400", "e").error()), HasSubstr("out of range"));
}

}  // namespace
}  // namespace paceline::sync
