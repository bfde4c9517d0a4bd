#pragma once

#include <string>
#include <utility>

#include "paceline/node/line_file.h"
#include "paceline/node/trace.h"
#include "paceline/roles/io.h"

namespace paceline::node {

// The files of a run that the coordinator's process writes while it runs. The loop owns it.
class Recorder {
 public:
  static Result<Recorder> create(const std::string& decisions, const std::string& metrics,
                                 const std::string& trace);

  Status on_input(Time now, const roles::Input& input) { return trace_.on_input(now, input); }
  Status on_output(Time now, const roles::Output& output);
  Status flush();
  // Ends the files. Nothing may follow.
  Status finish();

 private:
  Recorder(LineFile decisions, LineFile metrics, Trace trace)
      : decisions_(std::move(decisions)), metrics_(std::move(metrics)), trace_(std::move(trace)) {}

  LineFile decisions_;
  LineFile metrics_;
  Trace trace_;
};

}  // namespace paceline::node
