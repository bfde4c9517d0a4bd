#include "paceline/node/run_folder.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "paceline/base/text.h"
#include "paceline/node/summary.h"

namespace paceline::node {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RunFolderTest : public testing::Test {
 protected:
  RunFolderTest() {
    std::string pattern = testing::TempDir() + "runs-XXXXXX";
    root_ = mkdtemp(pattern.data());
    config_.train.samples = 10;
    config_.run.dir = root_ / "runs";
  }
  ~RunFolderTest() override {
    std::error_code error;
    fs::permissions(root_, fs::perms::owner_all, error);
    fs::remove_all(root_, error);
  }

  Result<RunFolder> make() { return make_run_folder(config_, kNow); }
  std::string refusal() {
    const auto run = make();
    if (run) return "made";
    EXPECT_EQ(exit_code(run.error()), 5);
    EXPECT_FALSE(run.error().fix.empty());
    return to_string(run.error());
  }

  // 2026-11-30 21:45:01 UTC
  static constexpr std::chrono::system_clock::time_point kNow{std::chrono::seconds(1796075101)};
  fs::path root_;
  Config config_;
};

TEST_F(RunFolderTest, HoldsTheCompletedConfigurationAndIsTheLatest) {
  const auto run = make();
  ASSERT_TRUE(run) << to_string(run.error());
  EXPECT_EQ(run->name(), "20261130-214501-elastic_bsp-1");
  EXPECT_TRUE(fs::is_directory(run->path / "logs"));
  EXPECT_TRUE(fs::is_directory(run->checkpoints()));
  EXPECT_EQ(parse_config(run->config().string()).value(), config_);
  EXPECT_EQ(run->log(worker_node(WorkerId{2})), run->path / "logs" / "worker-2.log");
  EXPECT_EQ(find_run(config_.run.dir, "latest")->name(), run->name());
}

TEST_F(RunFolderTest, RunsOfOneSecondDoNotShareAFolder) {
  const auto first = make();
  const auto second = make();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(second->name(), "20261130-214501-elastic_bsp-1.2");
  EXPECT_EQ(find_run(config_.run.dir, "latest")->name(), second->name());
  const auto runs = list_runs(config_.run.dir);
  ASSERT_EQ(runs->size(), 2U) << "the link to the latest is no run of its own";
  EXPECT_EQ(runs->at(0).name(), first->name());
}

TEST_F(RunFolderTest, AFileInItsPlaceIsRefused) {
  std::ofstream(root_ / "runs") << "x";
  EXPECT_THAT(refusal(), HasSubstr("this is a file"));
  config_.run.dir = root_ / "runs" / "below";
  EXPECT_THAT(refusal(), HasSubstr(cat((root_ / "runs").string(), ": this is a file")));
}

TEST_F(RunFolderTest, AFolderThatTheSystemWillNotMakeIsRefused) {
  config_.run.dir = "/proc/paceline";  // not even root may
  EXPECT_THAT(refusal(), HasSubstr("set run.dir"));
  if (geteuid() == 0) return;  // root may write anywhere else
  fs::permissions(root_, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THAT(refusal(), HasSubstr("no permission"));
}

TEST_F(RunFolderTest, ARunIsFoundByNameByPathAndNearlyByName) {
  const RunFolder run = make().value();
  EXPECT_EQ(find_run(config_.run.dir, run.name())->path, run.path);
  EXPECT_EQ(find_run("/nowhere", run.path.string() + "/")->name(), run.name());
  const auto missing = find_run(config_.run.dir, "20261130-214501-elastic_bsp-2");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::NotFound);
  EXPECT_EQ(missing.error().fix, "did you mean 20261130-214501-elastic_bsp-1?");
  EXPECT_FALSE(find_run(config_.run.dir, ""));
  EXPECT_TRUE(list_runs(root_ / "none")->empty());
  EXPECT_FALSE(list_runs(run.config()));
}

TEST_F(RunFolderTest, ASummaryIsReadOrItsLackExplained) {
  const RunFolder run = make().value();
  EXPECT_EQ(read_summary(run).error().code, Code::NotFound);
  ASSERT_TRUE(write_file(run.summary(), "{\"run\": \"x\", \"pol"));
  EXPECT_EQ(read_summary(run).error().code, Code::Corruption);
  for (const char* other : {"[1]", "{\"run\": \"x\"}", "{\"policy\": \"bsp\"}", ""}) {
    ASSERT_TRUE(write_file(run.summary(), other));
    EXPECT_EQ(read_summary(run).error().code, Code::Corruption) << other;
  }
  const Json summary = summary_json(config_, {}, {.run = run.name()});
  ASSERT_TRUE(write_file(run.summary(), summary_text(summary)));
  EXPECT_EQ(read_summary(run).value(), summary);
}

TEST_F(RunFolderTest, AFileIsWrittenWholeOrNotAtAll) {
  const fs::path file = root_ / "a.txt";
  ASSERT_TRUE(write_file(file, "one"));
  ASSERT_TRUE(write_file(file, "two"));
  EXPECT_EQ(read_file(file).value(), "two");
  EXPECT_FALSE(fs::exists(root_ / "a.txt.new"));
  EXPECT_EQ(write_file(root_ / "no" / "a.txt", "x").error().code, Code::Refused);
  fs::create_directory(root_ / "folder");
  EXPECT_FALSE(write_file(root_ / "folder", "x"));
  EXPECT_FALSE(fs::exists(root_ / "folder.new")) << "nothing is left behind";
}

}  // namespace
}  // namespace paceline::node
