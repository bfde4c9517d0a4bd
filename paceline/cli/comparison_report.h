#pragma once
#include <string>
#include <vector>

#include "paceline/sim/compare.h"
namespace paceline::cli {
struct Picture {
  std::string name;
  std::string svg;
};
inline std::string comparison_html(const sim::Comparison&) { return "<html></html>"; }
inline std::vector<Picture> comparison_pictures(const sim::Comparison&) { return {}; }
}  // namespace paceline::cli
