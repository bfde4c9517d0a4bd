#include "paceline/node/run_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include <unistd.h>

#include "paceline/base/text.h"

namespace paceline::node {
namespace {

namespace fs = std::filesystem;

constexpr int kNameTries = 1000;

tl::unexpected<Error> refused(const fs::path& path, std::string_view what, std::string fix) {
  return fail(Code::Refused, std::string(what), std::move(fix), path.string());
}

tl::unexpected<Error> no_folder(const fs::path& path, const std::error_code& error) {
  const std::string elsewhere = "set run.dir to a folder that you may write to";
  if (error == std::errc::permission_denied || error == std::errc::operation_not_permitted) {
    return refused(path, "no permission to make this folder", elsewhere);
  }
  if (error == std::errc::read_only_file_system) {
    return refused(path, "the file system is read-only", elsewhere);
  }
  if (error == std::errc::no_space_on_device) {
    return refused(path, "no space is left on the device", "free some, or set run.dir");
  }
  return refused(path, cat("this folder cannot be made: ", error.message()), elsewhere);
}

std::string stamp(std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &utc);
  return {text.data(), size};
}

Status make_parent(const fs::path& dir) {
  std::error_code error;
  for (fs::path above = dir; !above.empty(); above = above.parent_path()) {
    if (fs::exists(above, error)) {
      if (fs::is_directory(above, error)) break;
      return refused(above, "this is a file, and a folder for runs is needed",
                     "set run.dir to another folder, or move the file away");
    }
    if (above == above.parent_path()) break;
  }
  fs::create_directories(dir, error);
  if (error) return no_folder(dir, error);
  return {};
}

// Not an error where it fails: a file system may know no links.
void point_latest(const fs::path& run) {
  std::error_code error;
  const fs::path link = run.parent_path() / "latest";
  if (fs::exists(link, error) && !fs::is_symlink(link, error)) return;
  const fs::path fresh = run.parent_path() / cat(".latest.", ::getpid());
  fs::remove(fresh, error);
  fs::create_symlink(run.filename(), fresh, error);
  if (!error) fs::rename(fresh, link, error);
}

bool is_run(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) && fs::exists(path / "config.toml", error);
}

}  // namespace

fs::path RunFolder::log(NodeId node) const {
  return path / "logs" / cat(to_string(node.role), "-", node.index, ".log");
}

Result<RunFolder> make_run_folder(const Config& config, std::chrono::system_clock::time_point now) {
  const fs::path dir = config.run.dir;
  if (auto ok = make_parent(dir); !ok) return fail(ok.error());
  const std::string_view policy = split(config.sync.policy, ':').front();
  const std::string name = cat(stamp(now), "-", policy, "-", config.run.seed);
  RunFolder run;
  for (int i = 1; i <= kNameTries; ++i) {
    run.path = dir / (i == 1 ? name : cat(name, ".", i));
    std::error_code error;
    if (fs::create_directory(run.path, error)) break;  // only one process makes it
    if (error) return no_folder(run.path, error);
    if (i == kNameTries)
      return refused(run.path, "all names for this second are taken", "try again");
  }
  for (const char* sub : {"logs", "checkpoints"}) {
    std::error_code error;
    fs::create_directory(run.path / sub, error);
    if (error) return no_folder(run.path / sub, error);
  }
  if (auto ok = write_file(run.config(), to_toml(config)); !ok) return fail(ok.error());
  point_latest(run.path);
  return run;
}

Status write_file(const fs::path& name, std::string_view content) {
  // A link stays one; a device or a pipe is not replaced by a file.
  std::error_code unknown;
  const fs::path there = fs::canonical(name, unknown);
  const fs::path path = unknown ? name : there;
  if (!unknown && !fs::is_regular_file(path, unknown)) {
    return refused(path, "this is there, and no file", "name another");
  }
  const fs::path fresh = path.string() + ".new";
  const auto failed = [&](std::string_view what) {
    const std::string why = std::strerror(errno);
    std::error_code error;
    fs::remove(fresh, error);
    return refused(path, cat(what, ": ", why), "is there space, and may you write there?");
  };
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) return failed("the file cannot be written");
  if (std::rename(fresh.c_str(), path.c_str()) != 0)
    return failed("the file cannot be put in place");
  return {};
}

Result<std::string> read_file(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return fail(Code::NotFound, "there is no such file", {}, path.string());
  }
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file || fs::is_directory(path, error)) {
    return refused(path, "the file cannot be read", "check its permissions");
  }
  return text;
}

Result<std::vector<RunFolder>> list_runs(const fs::path& dir) {
  std::vector<RunFolder> runs;
  std::error_code error;
  if (!fs::exists(dir, error)) return runs;
  if (!fs::is_directory(dir, error)) {
    return fail(Code::InvalidArgument, "this is no folder", "give the folder of runs: --dir runs",
                dir.string());
  }
  fs::directory_iterator entries(dir, error);
  if (error) return refused(dir, "the folder cannot be read", "check its permissions");
  for (const fs::directory_entry& entry : entries) {
    if (!entry.is_symlink(error) && is_run(entry.path())) runs.push_back({entry.path()});
  }
  std::ranges::sort(runs, {}, &RunFolder::path);
  return runs;
}

Result<RunFolder> find_run(const fs::path& dir, const std::string& run) {
  std::error_code error;
  for (fs::path path : {dir / run, fs::path(run)}) {
    if (run.empty() || !is_run(path)) continue;
    if (fs::is_symlink(path, error)) path = path.parent_path() / fs::read_symlink(path, error);
    if (path.filename().empty()) path = path.parent_path();  // "runs/a/"
    return RunFolder{path};
  }
  const auto runs = list_runs(dir);
  if (!runs) return fail(runs.error());
  std::vector<std::string> names;
  for (const RunFolder& known : *runs) names.push_back(known.name());
  const std::string meant = nearest(run, names);
  const std::string fix = names.empty()   ? "make one: paceline train CONFIG.toml"
                          : meant.empty() ? cat("see: paceline runs --dir ", dir.string())
                                          : cat("did you mean ", meant, "?");
  return fail(Code::NotFound, cat("there is no run '", run, "' below ", dir.string()), fix, run);
}

}  // namespace paceline::node
