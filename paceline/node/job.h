#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "paceline/base/ids.h"
#include "paceline/base/result.h"
#include "paceline/roles/run_stats.h"
#include "paceline/wire/handshake.h"

// What the processes of a run are told by the one that starts them, and what they tell it: lines of
// JSON over a child's standard input and output. The job's secret travels this way only: it stands
// in no command line, environment or file.
namespace paceline::node {

// The first line that a child reads.
struct Job {
  std::string id;
  wire::Secret secret{};
  std::string folder;       // of the run
  std::string sockets;      // the folder of Unix sockets, short enough for their names
  std::string credentials;  // the folder with the job's certificates; empty: no TLS
  std::string coordinator;  // its address; empty to the coordinator itself
  std::int64_t epoch = 0;   // nanoseconds of the steady clock: when the run's time is zero
};
std::string to_line(const Job& job);
Result<Job> parse_job(std::string_view line);

// What follows. To the coordinator only.
struct Died {
  NodeId node;
  int exit_code = 0;
  int signal = 0;
  std::string cause;
};
struct StopOrder {
  int exit_code = 130;
  std::string why;
};
std::string to_line(const Died& died);
std::string to_line(const StopOrder& stop);

// What a child says. One of them is there.
struct Report {
  std::optional<std::string> listening;    // the address where it is reached
  std::optional<roles::RunStats> figures;  // coordinator: several a second, and the last ones
  std::optional<Error> failed;             // it could not begin
  std::optional<StopOrder> stopped;        // how and why it ends
};
std::string listening_line(std::string_view address);
std::string figures_line(const roles::RunStats& stats);
std::string failed_line(const Error& error);
std::string stopped_line(int exit_code, std::string_view why);
Result<Report> parse_report(std::string_view line);

// A line that went to a child after its Job; one of them is there.
struct Order {
  std::optional<Died> died;
  std::optional<StopOrder> stop;
};
Result<Order> parse_order(std::string_view line);

}  // namespace paceline::node
