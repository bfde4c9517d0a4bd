#include "paceline/node/report.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paceline/base/text.h"
#include "paceline/node/chart.h"
#include "paceline/node/table.h"

namespace paceline::node {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Json summary(const std::string& policy) {
  return Json::parse(cat(R"({"run": "r-)", policy, R"(", "exit": "ok", "exit_code": 0,
    "error": null, "policy": ")",
                         policy, R"(", "code": "none", "model": "cnn",
    "data": "fashion_mnist", "seed": 1, "workers": 2, "servers": 2, "seconds": 84.6,
    "setup_seconds": 2.1, "samples": 150000, "target_accuracy": 0.88, "seconds_to_target": 60.3,
    "test_accuracy": 0.889, "train_loss": 0.27, "steps": [1406, 469], "wait_share": [0.003, 0.62],
    "staleness": {"p50": 2, "p95": 6, "max": 10}, "pushes": {"applied": 1875, "dropped": 0,
    "repeated": 1}, "bytes": {"pushed": 1300000000, "pulled": 2600000000},
    "failures": [{"role": "worker", "rank": 1, "cause": "signal", "signal": 9,
    "at_seconds": 31.4, "at_step": 517, "text": "killed <by> somebody"}], "param_sha256": "ab",
    "accuracy": [{"seconds": 20, "samples": 50000, "accuracy": 0.85, "loss": 0.5},
                 {"seconds": 80, "samples": 150000, "accuracy": 0.889, "loss": 0.3}],
    "staleness_histogram": [[0, 5], [2, 1000], [90, 7]]})"));
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

// Every tag that is opened is closed, in order: enough of a parser for what we write.
std::string unbalanced(const std::string& html) {
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const std::string tag = html.substr(at + 1, html.find('>', at) - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag.starts_with('!') || name == "meta" || tag.ends_with('/')) continue;
    if (!tag.starts_with('/')) {
      open.push_back(name);
    } else if (open.empty() || "/" + open.back() != name) {
      return cat("<", tag, "> at ", at);
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back();
}

TEST(ReportTest, IsOneFileThatNeedsNothingElse) {
  const std::vector<ReportRun> runs{{summary("bsp"), "[run]\nseed = 1\n"},
                                    {summary("elastic_bsp:15"), ""}};
  const std::string html = report_html(runs);
  EXPECT_EQ(unbalanced(html), "");
  for (const char* outside : {"<script", "<link", "http:", "https:", "src=", "url(", "@import"}) {
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(html, HasSubstr("bsp against elastic_bsp:15"));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_EQ(count(html, "<svg"), 6U);
  EXPECT_EQ(count(html, "<path"), 6U) << "three curves of each run";
  EXPECT_EQ(count(html, "class=\"level\""), 2U) << "the target, where accuracy is drawn";
  EXPECT_THAT(html, HasSubstr("60.3 s"));
  EXPECT_THAT(html, HasSubstr("88.90 %"));
  EXPECT_THAT(html, HasSubstr("1406 · 469"));
  EXPECT_THAT(html, HasSubstr("seed = 1"));
}

TEST(ReportTest, NamesAndWordsCannotBreakThePage) {
  Json evil = summary("bsp");
  evil["policy"] = "</title><script>alert(1)</script>";
  evil["run"] = "\"><img>";
  const std::vector<ReportRun> runs{{evil, "# </pre><b>"}};
  const std::string html = report_html(runs);
  EXPECT_EQ(unbalanced(html), "");
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("killed &lt;by&gt; somebody"));
}

TEST(ReportTest, ASummaryWithLittleInItIsDrawnToo) {
  for (const char* text :
       {"{}", R"({"policy": 3, "accuracy": 7, "steps": [null, "x"]})",
        R"({"accuracy": [{"seconds": 1, "accuracy": 0.5}, null, 3]})",
        R"({"staleness_histogram": [[-1, 2], [1], "x", [1e300, 1]]})",
        R"({"accuracy": [{"seconds": 0, "samples": 0, "accuracy": 1, "loss": 0}]})",
        R"({"wait_share": [0, 0], "steps": [0, 0]})"}) {
    const std::vector<ReportRun> runs{{Json::parse(text), ""}};
    const std::string html = report_html(runs);
    EXPECT_EQ(unbalanced(html), "") << text;
    EXPECT_THAT(html, Not(HasSubstr("nan"))) << text;
    EXPECT_THAT(html, Not(HasSubstr("\"inf"))) << text;
    EXPECT_FALSE(summary_table(runs.front().summary).empty());
  }
}

TEST(ReportTest, RunsOfOnePolicyAreToldApartBySeed) {
  Json second = summary("bsp");
  second["seed"] = 2;
  const std::vector<ReportRun> runs{{summary("bsp"), ""}, {second, ""}};
  EXPECT_THAT(report_html(runs), HasSubstr("bsp, seed 1 against bsp, seed 2"));
}

// A value is where the axis says it is: the lowest point below the highest, ticks between.
TEST(ChartTest, PointsStandWhereTheyBelong) {
  const std::vector<Series> series{{.name = "a", .points = {{0, 0}, {10, 100}}}};
  const std::string svg = line_chart({.title = "t", .x = "s"}, series);
  // Drawing 640 x 340 with margins 62, 22, 34, 46; y has 6 % of air on either side.
  EXPECT_THAT(svg, HasSubstr("M62.0 280.1 L618.0 47.9"));
  EXPECT_THAT(svg, HasSubstr("a: 100 at 10 s"));
}

TEST(ChartTest, BarsStandOnTheAxisInTheirGroup) {
  const std::vector<std::string> groups{"w0", "w1"};
  const std::vector<Bars> bars{{.name = "a", .values = {1.0, std::nullopt}},
                               {.name = "b", .values = {0.5, 0.25}}};
  const std::string svg = bar_chart({.title = "t", .y_percent = true}, groups, bars);
  EXPECT_EQ(count(svg, "<rect"), 3U);
  EXPECT_THAT(svg, HasSubstr("<title>b, w1: 25 %</title>"));
  EXPECT_THAT(svg, HasSubstr("height=\"245.3\"")) << "260 high, 6 % of air above the highest";
}

TEST(ChartTest, TicksAreRoundAndWithin) {
  EXPECT_FALSE(std::signbit(ticks(0, 10, 5).front()));
  EXPECT_THAT(ticks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(ticks(0.81, 0.9, 4), ElementsAre(DoubleNear(0.825, 1e-9), DoubleNear(0.85, 1e-9),
                                               DoubleNear(0.875, 1e-9), DoubleNear(0.9, 1e-9)));
  EXPECT_THAT(ticks(3, 3, 5), ElementsAre(3));
  EXPECT_LE(ticks(-1e300, 1e300, 5).size(), 12U);
}

TEST(TableTest, ColumnsAreAsWideAsTheirWidestCell) {
  Table table({{"name"}, {"n", Table::Align::Right}, {"doc"}});
  table.add({"é", "10", "x"});
  table.add({"longer"});
  EXPECT_EQ(table.text(1),
            " name     n  doc\n"
            " é       10  x\n"
            " longer\n");
}

TEST(ReportTextTest, SaysWhatTheDemoCompares) {
  const std::vector<Json> summaries{summary("bsp"), summary("asp")};
  const std::string text = comparison_text(summaries);
  for (const char* what : {"bsp", "asp", "60.3 s", "88.9 %", "1406 469", "0.3 62.0", "2 / 6 / 10",
                           "1.3 GB", "2.6 GB"}) {
    EXPECT_THAT(text, HasSubstr(what));
  }
  Json failed = summary("bsp");
  failed["exit"] = "process";
  failed["exit_code"] = 4;
  failed["seconds_to_target"] = nullptr;
  failed["error"] = {{"where", "server 1"}, {"what", "it died"}, {"fix", "see its log"}};
  const std::string one = summary_table(failed);
  for (const char* what :
       {"process (exit code 4)", "88.0 %: not reached", "62.0 %",
        "worker 1: killed <by> somebody at 31.4 s, step 517", "server 1: it died; see its log"}) {
    EXPECT_THAT(one, HasSubstr(what));
  }
}

}  // namespace
}  // namespace paceline::node
