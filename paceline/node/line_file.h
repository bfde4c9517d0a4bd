#pragma once

#include <string>
#include <string_view>

#include "paceline/base/result.h"

namespace paceline::node {

// A file of lines that grows: decisions.jsonl, metrics.jsonl, trace.json. Lines are gathered and
// written together, each whole: whoever reads along never sees half a line but the last.
// Not thread-safe: the loop owns it.
class LineFile {
 public:
  // Makes the file, or empties it.
  static Result<LineFile> create(const std::string& path);
  ~LineFile();  // writes what is left; an error is lost: flush() first
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&& other) noexcept;

  // line: without the end of line.
  Status append(std::string_view line);
  Status flush();

 private:
  LineFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_ = -1;
  std::string buffer_;
};

}  // namespace paceline::node
