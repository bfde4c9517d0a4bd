#pragma once

#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "paceline/node/summary.h"

namespace paceline::node {

struct ReportRun {
  Json summary;             // summary_json
  std::string config_toml;  // as completed; empty: not known
};

// A page that needs nothing else, in the light and in the dark; title and body are HTML.
std::string page(std::string_view title, std::string_view body);

// One HTML file that needs nothing else: accuracy and loss drawn over seconds and over samples,
// waiting and steps of each worker, the figures, failures and configuration; several runs side by
// side. Light and dark. runs: at least one.
std::string report_html(std::span<const ReportRun> runs);

// The same run by run as text for a terminal: what `paceline train` and `paceline show` print.
std::string comparison_text(std::span<const Json> summaries);
std::string summary_table(const Json& summary);

}  // namespace paceline::node
