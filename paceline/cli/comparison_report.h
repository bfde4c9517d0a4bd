#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "paceline/sim/compare.h"

// The pictures of a comparison: who does what when, accuracy against time, waiting, staleness.
namespace paceline::cli {

struct Picture {
  std::string name;  // fit for a file
  std::string svg;   // a file of its own
};

// One HTML file that needs nothing else. Its size is bounded, whatever was compared.
std::string comparison_html(const sim::Comparison& comparison);

// Each chart of that page as SVG, for a paper.
std::vector<Picture> comparison_pictures(const sim::Comparison& comparison);

// A policy's spelling as a part of a file's name: "ssp_3".
std::string file_word(std::string_view policy);

}  // namespace paceline::cli
