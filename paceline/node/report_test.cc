#include "paceline/node/report.h"

#include <cmath>
#include <set>
#include <string>
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

TEST(ChartTest, PanelsHaveOneScaleAndSayWhatIsNotThere) {
  const std::vector<std::string> groups{"0", "1"};
  const std::vector<Bars> bars{{.name = "a", .values = {1.0, 0.5}, .note = "mean 75 %"},
                               {.name = "b", .values = {0.0, 0.0}},
                               {.name = "c", .values = {}},
                               {.name = "d", .values = {0.25, std::nullopt}}};
  const std::string svg =
      panel_chart({.title = "t", .x = "worker", .y_percent = true, .zero = "none"}, groups, bars);
  EXPECT_EQ(count(svg, "<rect"), 7U) << "a square for each name, three bars";
  // 106 high, 6 % of air above the highest of all panels.
  EXPECT_THAT(svg, HasSubstr("height=\"100.0\"><title>a, 0: 100 %"));
  EXPECT_THAT(svg, HasSubstr("height=\"25.0\"><title>d, 0: 25 %"));
  EXPECT_EQ(count(svg, ">none<"), 1U);
  EXPECT_EQ(count(svg, ">nothing was measured<"), 1U);
  EXPECT_THAT(svg, HasSubstr(">mean 75 %<"));
}

TEST(ChartTest, TwelveCurvesDifferInColourOrDash) {
  const std::vector<Series> series(12, Series{.name = "a", .points = {{0, 0}, {1, 1}}});
  const std::string svg = line_chart({.title = "t", .has_legend = true}, series);
  std::set<std::string> looks;
  for (std::size_t at = svg.find("<g class="); at != std::string::npos;
       at = svg.find("<g class=", at + 1)) {
    looks.insert(svg.substr(at, svg.find('>', at) - at));
  }
  EXPECT_EQ(looks.size(), 12U);
}

// What a worker does has to be told apart on grey paper.
TEST(ChartTest, WhatAWorkerDoesDiffersInLightness) {
  const std::string style = standalone("<svg viewBox=\"0 0 1 1\"></svg>");
  std::vector<double> lightness;
  for (const char* kind : {"push", "compute", "pull", "wait"}) {
    const std::string rule = cat("g.", kind, " path { stroke: #");
    const std::size_t at = style.find(rule);
    ASSERT_NE(at, std::string::npos) << kind;
    const unsigned long rgb = std::stoul(style.substr(at + rule.size(), 6), nullptr, 16);
    const auto linear = [&](unsigned shift) {
      const double part = static_cast<double>(rgb >> shift & 0xff) / 255;
      return part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
    };
    const double y = 0.2126 * linear(16) + 0.7152 * linear(8) + 0.0722 * linear(0);
    lightness.push_back(116 * std::cbrt(y) - 16);  // CIE L*, above its linear foot
  }
  for (std::size_t i = 1; i < lightness.size(); ++i) {
    EXPECT_GT(lightness[i] - lightness[i - 1], 15) << i;
  }
}

TEST(ChartTest, AFileOfItsOwnNeedsNoBrowser) {
  const std::string svg = standalone(panel_chart({.title = "t"}, {}, {}));
  EXPECT_THAT(svg, HasSubstr("width=\"180.0mm\""));
  EXPECT_THAT(svg, HasSubstr("fill=\"#ffffff\""));
  EXPECT_THAT(svg, Not(HasSubstr("var(")));
}

TEST(ChartTest, TextIsFitForXmlWhateverItWas) {
  EXPECT_EQ(escape_html("a<b>&\"\x01\n\xc3\xa9"), "a&lt;b&gt;&amp;&quot; \n\xc3\xa9");
  for (const char* bad : {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xef\xbf\xbf"}) {
    EXPECT_THAT(escape_html(bad), HasSubstr("\xef\xbf\xbd")) << bad;
    EXPECT_THAT(escape_html(bad), Not(HasSubstr(bad)));
  }
  EXPECT_EQ(shortened("\xc3\xa9\xc3\xa9\xc3\xa9", 3), "\xc3\xa9\xc3\xa9\xc3\xa9");
  EXPECT_EQ(shortened("\xc3\xa9\xc3\xa9\xc3\xa9", 2), "\xc3\xa9\xe2\x80\xa6");
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
