#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "paceline/base/result.h"

// What every command says in the same way.
namespace paceline::cli {

// Facts, to standard output.
void print(std::string_view text);
// Words broken into lines that fit a screen, each after an indent.
std::string wrapped(std::string_view text, std::size_t indent);
// One JSON value and nothing else, to standard output.
void print_json(const nlohmann::ordered_json& value);

// "paceline: where: what; fix" to standard error and, with json, the error object to standard
// output. Returns the exit code, so that a command ends with `return report_error(...)`.
int report_error(const Error& error, bool json);

}  // namespace paceline::cli
