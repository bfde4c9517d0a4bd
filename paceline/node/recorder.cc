#include "paceline/node/recorder.h"

namespace paceline::node {

Result<Recorder> Recorder::create(const std::string& decisions, const std::string& metrics,
                                  const std::string& trace) {
  auto decisions_file = LineFile::create(decisions);
  if (!decisions_file) return fail(decisions_file.error());
  auto metrics_file = LineFile::create(metrics);
  if (!metrics_file) return fail(metrics_file.error());
  auto trace_file = Trace::create(trace);
  if (!trace_file) return fail(trace_file.error());
  return Recorder(std::move(*decisions_file), std::move(*metrics_file), std::move(*trace_file));
}

Status Recorder::on_output(Time now, const roles::Output& output) {
  const auto* record = std::get_if<roles::Record>(&output);
  if (record == nullptr) return trace_.on_output(now, output);
  const bool decision = record->file == roles::Record::File::Decisions;
  return (decision ? decisions_ : metrics_).append(record->line);
}

Status Recorder::flush() {
  if (auto status = decisions_.flush(); !status) return status;
  if (auto status = metrics_.flush(); !status) return status;
  return trace_.flush();
}

Status Recorder::finish() {
  if (auto status = trace_.finish(); !status) return status;
  return flush();
}

}  // namespace paceline::node
