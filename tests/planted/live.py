#!/usr/bin/env python3
"""Plants bugs in what makes a role live (paceline/node: driver, processes, files), one at a time, and
sees whether the unit tests find them.

Works on a copy in a temporary folder (or the one named with --dir, kept for the next call):
    tests/planted/live.py [--only WORD] [--dir FOLDER]
Each bug is one replacement in one file. A bug is found if a test fails, crashes or does not end.
Exit code 1 if one was missed or could not be planted.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["base", "sync", "optim", "membership", "wire", "roles", "net", "node"]
TESTS = ("Driver.*:*EveryPolicy*:Child.*:LineReader.*:LineFile.*:ComputeThread.*:Job.*:Trace.*")

# file, what stands there, what a slip would make of it
BUGS = [
    # the driver: order, re-entry, effects
    ("driver.cc", "std::copy_n(from, count, part.begin());", ""),
    ("driver.cc", "    from += count;\n", ""),
    ("driver.cc", "if (std::exchange(feeding_, true)) return;", "feeding_ = true;"),
    ("driver.cc", "if (!stopped_) take(next);", "take(next);"),
    ("driver.cc", "  feed(roles::Started{});\n", ""),
    ("driver.cc", "transport_.flush(kFlush, [this] { loop_.stop(); });", "loop_.stop();"),
    ("driver.cc", "feed(roles::StopRequested{5, to_string(status.error())});", ""),
    ("driver.cc", "roles::StopRequested{5,", "roles::StopRequested{4,"),
    ("driver.cc", "recorder->finish(); !status", "recorder->flush(); !status"),
    ("driver.cc", "if (!stopped_) tick_on_loop(periodic);", ""),
    ("driver.cc", "feed(roles::TimerFired{id});", "(void)id;"),
    ("driver.cc", "feed(roles::PeerDown{peer, why});", 'if (why == "never") feed(roles::PeerDown{peer, why});'),
    ("driver.cc", "computed.loss = result->loss;", ""),
    ("driver.cc", "computed.error = to_string(result.error());", ""),
    # the compute thread
    ("compute.cc", "if (next_) return false;", ""),
    ("compute.cc", "return !busy_ && !next_;", "return !next_;"),
    # processes
    ("process.cc", "prctl(PR_SET_PDEATHSIG, SIGKILL);", ""),
    ("process.cc", "  signal(SIGINT, SIG_IGN);\n", ""),
    ("process.cc", "ending_ = Ending{0, WTERMSIG(status)};", "ending_ = Ending{WTERMSIG(status), 0};"),
    ("process.cc", "buffer_.erase(0, begin);", "buffer_.clear();"),
    ("process.cc", "if (n <= 0 || buffer_.size()", "if (n < 0 || buffer_.size()"),
    ("process.cc", "fcntl(out_read.get(), F_SETFL, O_NONBLOCK);", ""),
    # lines between processes, and files
    ("job.cc", '{"epoch", job.epoch}', '{"epoch", 0}'),
    ("job.cc", 'died.at("signal").get<int>()', "0"),
    ("stats_json.cc", "stats.leases_lost = ", "stats.dropped = "),
    ("line_file.cc", "if (n < 0) return refused(path_, errno);", "if (n < 0) break;"),
    ("line_file.cc", "  buffer_ += '\\n';\n", ""),
    ("trace.cc", "if (left_ == 0) {", "if (false) {"),
    ("trace.cc", 'file_.append("]")', 'file_.append("")'),
    ("trace.cc", "if (auto ended = end_step(worker, now, {}); !ended) return ended;", ""),
]


def run(command, folder, timeout):
    try:
        done = subprocess.run(command, cwd=folder, timeout=timeout, capture_output=True, text=True,
                              errors="replace", check=False)
        return done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        return None, ""


def copy_tree(folder):
    """The folders that the tests need, as a project of their own."""
    for part in ["CMakeLists.txt", "CMakePresets.json", "cmake", "paceline/CMakeLists.txt",
                 *(f"paceline/{name}" for name in FOLDERS)]:
        source, target = ROOT / part, folder / part
        if source.is_dir():
            # Without the times: a folder of an earlier call may hold objects with a bug in them.
            shutil.copytree(source, target, dirs_exist_ok=True, copy_function=shutil.copy)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "tests/CMakeLists.txt").write_text("")
    for name in ["driver_test.cc", "process_test.cc"]:  # a test that waits in vain says so sooner
        test = folder / "paceline/node" / name
        text = test.read_text().replace("kLong = std::chrono::seconds(120)",
                                        "kLong = std::chrono::seconds(10)")
        test.write_text(text.replace("kLongMs = 60'000", "kLongMs = 5'000"))


def verdict(folder):
    code, out = run(["cmake", "--build", "build", "--target", "node_test", "-j2"], folder, 1800)
    if code != 0:
        return "does not compile", out
    program = next((folder / "build").rglob("node_test"))
    code, out = run([str(program), "--gtest_fail_fast", "--gtest_brief=1",
                     f"--gtest_filter={TESTS}"], folder, 60)
    return ("missed" if code == 0 else "found"), out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--dir", type=pathlib.Path)
    options = parser.parse_args()
    folder = options.dir or pathlib.Path(tempfile.mkdtemp(prefix="planted-live-"))
    copy_tree(folder)
    code, out = run(["cmake", "-G", "Ninja", "-B", "build", "-DPACELINE_TORCH=OFF",
                     "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0"], folder, 120)
    if code != 0:
        sys.exit(out)
    result, out = verdict(folder)
    if result != "missed":
        sys.exit(f"without a bug: node_test {result}\n{out[-2000:]}")
    found, wrong = 0, []
    for name, there, planted in BUGS:
        if options.only not in name + there + planted:
            continue
        path = folder / "paceline/node" / name
        good = path.read_text()
        if good.count(there) < 1:
            result = "not there any more"
        else:
            path.write_text(good.replace(there, planted, 1))
            result, _ = verdict(folder)
            path.write_text(good)
        label = " ".join(f"{name}: {there!r} -> {planted!r}".split())
        print(f"{result:16}  {label}", flush=True)
        if result == "found":
            found += 1
        else:
            wrong.append(label)
    print(f"{found} found, {len(wrong)} not")
    if options.dir is None:
        shutil.rmtree(folder)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
