// The registry: every spelling makes what it names, every mistake gets a clear sentence.
#include "paceline/sync/registry.h"

#include <gmock/gmock.h>

#include "paceline/base/text.h"

namespace paceline::sync {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string spec_of(std::string_view spec) {
  const auto policy = make_policy(spec);
  return policy ? (*policy)->spec() : to_string(policy.error());
}

TEST(RegistryTest, SpecsRoundTrip) {
  for (const char* spec :
       {"bsp", "asp", "ssp:0", "ssp:3", "ssp:1000000", "dssp:3-15", "dssp:0-0", "dssp_literal:3-15",
        "elastic_bsp:15", "elastic_bsp:1,predictor=last", "elastic_bsp:60,points=paper",
        "elastic_bsp:10000,predictor=last,points=paper"}) {
    EXPECT_EQ(spec_of(spec), spec);
  }
  EXPECT_EQ(spec_of("elastic_bsp"), "elastic_bsp:15");
  EXPECT_EQ(spec_of("elastic_bsp:predictor=last"), "elastic_bsp:15,predictor=last");
  EXPECT_EQ(spec_of("elastic_bsp:4,predictor=mean,points=future"), "elastic_bsp:4");
  EXPECT_EQ(spec_of("elastic_bsp:predictor=last,predictor=mean"), "elastic_bsp:15");
}

TEST(RegistryTest, EntriesAreComplete) {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : policies()) {
    names.push_back(entry.name);
    EXPECT_EQ(spec_of(entry.example), entry.example);
    EXPECT_FALSE(entry.doc.empty() || entry.source.empty());
    EXPECT_EQ(entry.file, cat("paceline/sync/", entry.name, ".cc"));
    EXPECT_TRUE(entry.spec.starts_with(entry.name));
  }
  EXPECT_THAT(names, ElementsAre("bsp", "asp", "ssp", "dssp", "dssp_literal", "elastic_bsp"));
}

TEST(RegistryTest, MistakesAreNamed) {
  EXPECT_THAT(spec_of("elastic_bps"), AllOf(HasSubstr("'elastic_bps' is unknown"),
                                            HasSubstr("did you mean 'elastic_bsp'")));
  EXPECT_THAT(spec_of("xyzzy"),
              AllOf(HasSubstr("known: bsp, asp"), Not(HasSubstr("did you mean"))));
  EXPECT_THAT(spec_of(""), HasSubstr("name is missing"));
  EXPECT_THAT(spec_of(":3"), HasSubstr("name is missing"));
  EXPECT_THAT(spec_of("SSP:3"), HasSubstr("unknown"));
  EXPECT_THAT(spec_of("bsp:3"), HasSubstr("'bsp' takes no options, not '3'"));
  EXPECT_THAT(spec_of("bsp:"), HasSubstr("nothing stands behind the colon"));
  EXPECT_THAT(spec_of("ssp"), AllOf(HasSubstr("needs its bound"), HasSubstr("'ssp:3'")));
  for (const char* bad :
       {"ssp:x", "ssp:-1", "ssp:3.5", "ssp: 3", "ssp:1000001", "ssp:99999999999999999999999"}) {
    EXPECT_THAT(spec_of(bad), AllOf(HasSubstr(cat("'", bad, "'")),
                                    HasSubstr("not a whole number from 0 to 1000000")));
  }
  for (const std::string name : {"dssp", "dssp_literal"}) {
    EXPECT_THAT(spec_of(name), HasSubstr("needs a range"));
    EXPECT_THAT(spec_of(name + ":3"), AllOf(HasSubstr("needs a range"), HasSubstr(name + ":3-15")));
    EXPECT_THAT(spec_of(name + ":5-3"), AllOf(HasSubstr("lower bound 5 is above the upper bound 3"),
                                              HasSubstr(name + ":3-5")));
    EXPECT_THAT(spec_of(name + ":x-3"), HasSubstr("the lower bound is 'x'"));
    EXPECT_THAT(spec_of(name + ":3-"), HasSubstr("the upper bound is ''"));
    EXPECT_THAT(spec_of(name + ":-3"), HasSubstr("the lower bound is ''"));
    EXPECT_THAT(spec_of(name + ":1-2-3"), HasSubstr("the upper bound is '2-3'"));
    EXPECT_THAT(spec_of(name + ":0-10001"), HasSubstr("from 0 to 10000"));
  }
  EXPECT_THAT(spec_of("elastic_bsp:0"), HasSubstr("from 1 to 10000"));
  EXPECT_THAT(spec_of("elastic_bsp:10001"), HasSubstr("from 1 to 10000"));
  EXPECT_THAT(spec_of("elastic_bsp:15,predictor=next"), HasSubstr("'predictor=next' is unknown"));
  EXPECT_THAT(spec_of("elastic_bsp:predictor=last,15"), HasSubstr("'15' is unknown"));
  EXPECT_THAT(spec_of("elastic_bsp:15,"), HasSubstr("option '' is unknown"));
}

TEST(RegistryTest, ListsAreSplitBeforeNamesOnly) {
  EXPECT_THAT(*split_policies("bsp,elastic_bsp:15,predictor=last,ssp:3"),
              ElementsAre("bsp", "elastic_bsp:15,predictor=last", "ssp:3"));
  EXPECT_THAT(*split_policies("elastic_bsp,predictor=last,points=paper, asp"),
              ElementsAre("elastic_bsp:predictor=last,points=paper", "asp"));
  EXPECT_THAT(*split_policies("dssp:3-15"), ElementsAre("dssp:3-15"));
  for (const char* bad : {"", "bsp,,asp", "bsp,", "bsp,foo", "predictor=last", "bsp,spp:3"}) {
    EXPECT_FALSE(split_policies(bad)) << bad;
  }
  EXPECT_THAT(split_policies("bsp,spp:3").error().fix, HasSubstr("did you mean 'ssp'"));
}

}  // namespace
}  // namespace paceline::sync
