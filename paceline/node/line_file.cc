#include "paceline/node/line_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "paceline/base/text.h"

namespace paceline::node {
namespace {

constexpr std::size_t kGather = 256U << 10U;  // bytes

tl::unexpected<Error> refused(const std::string& path, int error) {
  return fail(Code::Refused, cat("cannot write ", path, ": ", std::strerror(error)),
              "is the disk full, or the folder read-only? choose another with run.dir");
}

}  // namespace

Result<LineFile> LineFile::create(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return refused(path, errno);
  return LineFile(path, fd);
}

LineFile::LineFile(LineFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      buffer_(std::exchange(other.buffer_, {})) {}

LineFile& LineFile::operator=(LineFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

LineFile::~LineFile() {
  if (fd_ < 0) return;
  (void)flush();
  close(fd_);
}

Status LineFile::append(std::string_view line) {
  buffer_ += line;
  buffer_ += '\n';
  return buffer_.size() < kGather ? Status{} : flush();
}

Status LineFile::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t n = write(fd_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return refused(path_, errno);
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  buffer_.clear();
  return {};
}

}  // namespace paceline::node
