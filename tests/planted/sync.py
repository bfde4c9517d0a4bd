#!/usr/bin/env python3
"""Plants bugs in paceline/sync, one at a time, and sees whether its tests find them.

Works on a copy in a temporary folder (or the one named with --dir, kept for the next call):
    tests/planted/sync.py [--only WORD] [--dir FOLDER]
Each bug is one replacement in one file. A bug is found if sync_test fails, or does not end. Those
that no test can find because they change nothing are not in the list.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# file in paceline/sync, what stands there, what a slip would make of it
BUGS = [
    ("policy_base.cc", "if (member.in) return std::nullopt;\n  member.in = true;", "member.in = true;"),
    ("policy_base.cc", "if (!member.in || !member.released) return std::nullopt;",
     "if (!member.in) return std::nullopt;"),
    ("policy_base.cc", "event.push <= member.last", "event.push < member.last"),
    ("policy_base.cc", "event.push <= member.last", "event.push.step <= member.last.step"),
    ("policy_base.cc", "  member.released = false;\n  member.has_pushed", "  member.has_pushed"),
    ("policy_base.cc", "it->second.in = false;\n  it->second.released = false;", "it->second.in = false;"),
    ("policy_base.cc", "std::sort(decision.release.begin(), decision.release.end());", ""),
    ("policy_base.cc", "std::clamp(event.now, now_, kLatest)", "event.now"),
    ("policy_base.cc", "if (decision.reason.empty())", "if (false)"),
    ("policy_base.cc", "|| it->second.released) {", ") {"),
    ("contract.cc", "again != decision", "false"),
    ("contract.cc", "alone != decision", "false"),
    ("contract.cc", "p.second >= 2", "true"),
    ("contract.cc", "if (undecided_.erase(push) == 1) return {};", "return {};"),
    ("contract.cc", "return open_.erase(event.worker) == 1;", "return true;"),
    ("contract.cc", "!open_.empty() && !somebody", "false"),
    ("contract.cc", "open_.empty() && !undecided_.empty()", "false"),
    ("contract.cc", "    if (member->second) {", "    if (false) {"),
    ("contract.cc", "    member->second = true;\n", ""),
    ("contract.cc", "decision == Decision{}", "decision.reason.empty()"),
    ("contract.cc", "event.push <= newest->second", "event.push < newest->second"),
    ("contract.cc", "i % 3 == 2", "false"),
    ("contract.cc", "take_if_broken(renumbered(events));", ""),
    ("contract.cc", "if (take_if_broken(std::move(fewer))) shorter = true;", ""),
    ("transcript.cc", "/ 1e9", "* 1e-9"),
    ("transcript.cc", "*seconds >= -kMost && *seconds <= kMost", "true"),
    ("clocks.h", "order_.empty() ? 0 : min()", "0"),
    ("clocks.h", "order_.empty() ? 0 : min()", "order_.empty() ? 0 : max()"),
    ("clocks.h", "    order_.erase({clock_.at(worker), worker});\n    clock_.erase", "    clock_.erase"),
    ("bsp.cc", "  waiting_.erase(worker);\n", ""),
    ("bsp.cc", "go on\");\n  buffer_.clear();", "go on\");"),
    ("bsp.cc", "  waiting_.clear();\n", ""),
    ("bsp.cc", "workers_.size())};\n  if (barrier_is_due()) make_barrier(decision);\n  return decision;\n}\n\nvoid",
     "workers_.size())};\n  return decision;\n}\n\nvoid"),
    ("bsp.h", "!buffer_.empty() && waiting_", "waiting_"),
    ("bsp.h", "!buffer_.empty() && waiting_", "!workers_.empty() && waiting_"),
    ("ssp.cc", "> staleness_", ">= staleness_"),
    ("ssp.cc", "> staleness_", "> staleness_ + 1"),
    ("ssp.cc", "  held_.erase(worker);\n  Decision decision;\n  release_held(decision);",
     "  held_.erase(worker);\n  Decision decision;"),
    ("dssp.cc", "> high_) return false", ">= high_) return false"),
    ("dssp.cc", "> high_) return false", "> high_ + 1) return false"),
    ("dssp.cc", "fast.extra = r - 1;", "fast.extra = r;"),
    ("dssp.cc", "std::min(high_ - low_, high_ - gap + 1)", "high_ - low_"),
    ("dssp.cc", "now - worker.released", "now - (worker.pace ? worker.pace->last : worker.released)"),
    ("dssp.cc", "clocks_.of(worker) == clocks_.max() && grant(worker, why)", "grant(worker, why)"),
    ("dssp.cc", "    workers_.at(*it).extra = 0;\n", ""),
    ("dssp.cc", "    workers_.at(*it).released = now;\n", ""),
    ("dssp.cc", "r + gap - low_ - 1", "r"),
    ("dssp.cc", "if (last_push(id) < last_push(best)) best = id;", ""),
    ("dssp_literal.cc", "if (worker.extra > 0) {\n    --worker.extra;", "if (worker.extra > 1) {\n    --worker.extra;"),
    ("dssp_literal.cc", "if (clocks_.gap(id) <= low_) return true;", "if (clocks_.gap(id) <= high_) return true;"),
    ("dssp_literal.cc", "if (clocks_.of(id) != clocks_.max()) return false;", ""),
    ("dssp_literal.cc", "  worker.last = now;\n", ""),
    ("dssp_controller.h", "std::max(now, slow.last + slow.interval)", "slow.last + slow.interval"),
    ("dssp_controller.h", "distance < best_distance", "distance <= best_distance"),
    ("dssp_controller.h", "r <= last; ++r", "r < last; ++r"),
    ("dssp_controller.h", "{k, std::min(k + 1, last)}", "{k, k}"),
    ("elastic_bsp.cc", "kMonitoredPushes = 2", "kMonitoredPushes = 1"),
    ("elastic_bsp.cc", "kMeanWeightInverse = 10", "kMeanWeightInverse = 9"),
    ("elastic_bsp.cc", "worker.pushes + 1 >= worker.quota", "worker.pushes >= worker.quota"),
    ("elastic_bsp.cc", ": quota_open_ == 0;", ": true;"),
    ("elastic_bsp.cc", ": quota_open_ == 0;", ": false;"),
    ("elastic_bsp.cc", "if (worker.quota > 0 && !worker.waiting) --quota_open_;", "if (worker.quota > 0) --quota_open_;"),
    ("elastic_bsp.cc", "  if (worker.waiting) --waiting_;\n", ""),
    ("elastic_bsp.cc", "  if (worker.pushes >= kMonitoredPushes) --monitored_;\n", ""),
    ("elastic_bsp.cc", "  if (workers_.empty()) planned_ = false;\n", ""),
    ("elastic_bsp.cc", "2 * longest + interval - Duration{1}", "longest + interval - Duration{1}"),
    ("elastic_bsp.cc", "2 * longest + interval - Duration{1}", "2 * longest"),
    ("elastic_bsp.cc", ": std::max(worker.last_push + interval, now)", ": worker.last_push + interval"),
    ("elastic_bsp.cc", "std::max(plan.index[row] - made, 1U)", "plan.index[row] - made"),
    ("elastic_bsp.cc", "worker.quota = worker.pushes + to_make", "worker.quota = to_make"),
    ("elastic_bsp.cc", "  for (auto& [id, worker] : workers_) {\n    worker.released = now;", "  for (auto& [id, worker] : workers_) {"),
    ("elastic_bsp.cc", "    worker.pushes = 0;\n", ""),
    ("elastic_bsp.cc", "    worker.released = now;\n    decision.reason", "    decision.reason"),
    ("elastic_bsp.cc", "Duration{1}, kMaxInterval", "Duration{1}, Duration::max()"),
    ("zipline.cc", "if (wait < best_wait) {", "if (wait <= best_wait) {"),
    ("zipline.cc", "barrier = std::max(barrier, next);", "barrier = next;"),
    ("zipline.cc", "std::min<std::uint64_t>(later, row.count - 1)", "later"),
    ("zipline.cc", "std::upper_bound(row.begin(), row.end(), barrier)",
     "std::lower_bound(row.begin(), row.end(), barrier) + 1"),
    ("zipline.cc", "static_cast<std::uint64_t>(node.key < rising.key)", "static_cast<std::uint64_t>(node.key > rising.key)"),
    ("zipline.cc", "(nodes_.size() + rising.player) / 2", "(nodes_.size() + rising.player) / 4"),
    ("zipline.cc", "if (b.key < a.key) std::swap(a, b);", ""),
    ("zipline.cc", "return bits ^ ((bits >> 63) & std::numeric_limits<std::int64_t>::max());", "return bits;"),
    ("zipline.cc", "row[c] <= row[c - 1]", "row[c] < row[c - 1]"),
    ("registry.cc", "*value > high)", "*value >= high)"),
    ("registry.cc", "if (*low > *high)", "if (*low >= *high)"),
    ("registry.cc", "before.find(':') == std::string::npos ? \":\" : \",\"", "\",\""),
]

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(Planted LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_EXTENSIONS OFF)
set(PACELINE_SANITIZE "" CACHE STRING "")
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_SOURCE_DIR}/cmake)
include(CTest)
include(GNUInstallDirs)
include(paceline_build)
add_subdirectory(paceline/base)
add_subdirectory(paceline/sync)
"""


def build(tree):
    done = subprocess.run(["cmake", "--build", tree / "build", "--target", "sync_test", "-j2"],
                          capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout


def test(tree):
    try:
        done = subprocess.run([tree / "build/paceline/sync/sync_test", "--gtest_brief=1",
                               "--gtest_fail_fast"], capture_output=True, text=True, timeout=120,
                              check=False)
    except subprocess.TimeoutExpired:
        return "does not end"
    if done.returncode == 0:
        return ""
    failed = [line.split()[3].rstrip(",") for line in done.stdout.splitlines()
              if line.startswith("[  FAILED  ]") and len(line.split()) > 3]
    return failed[0] if failed else f"aborts ({done.returncode})"


def copy_tree(tree):
    for part in ("cmake", "paceline/base", "paceline/sync", "tests/transcripts"):
        # With new times, else the build would keep what it made of the bug before.
        shutil.copytree(ROOT / part, tree / part, dirs_exist_ok=True, copy_function=shutil.copy)
    (tree / "CMakeLists.txt").write_text(CMAKE)
    subprocess.run(["cmake", "-G", "Ninja", "-S", tree, "-B", tree / "build",
                    "-DCMAKE_CXX_FLAGS=-O1 -w"], check=True, capture_output=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="bugs whose file or text has this word")
    parser.add_argument("--dir", help="work here and leave it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        tree = pathlib.Path(arguments.dir or temporary)
        copy_tree(tree)
        built, output = build(tree)
        if not built or test(tree):
            print(output[-2000:], "\nthe tree as it is does not pass its tests", sep="")
            return 1
        missed = 0
        bugs = [bug for bug in BUGS if any(arguments.only in part for part in bug)]
        for name, old, new in bugs:
            path = tree / "paceline/sync" / name
            right = path.read_text()
            shown = f"{name}: {' '.join(old.split())[:60]} -> {' '.join(new.split())[:50] or 'nothing'}"
            if right.count(old) != 1:
                print(f"STALE   {shown}: stands there {right.count(old)} times", flush=True)
                missed += 1
                continue
            path.write_text(right.replace(old, new))
            built, output = build(tree)
            by = test(tree) if built else "the compiler"
            path.write_text(right)
            missed += not by
            print(f"{'found  ' if by else 'MISSED '} {shown}" + (f"  [{by}]" if by else ""), flush=True)
        print(f"{len(bugs) - missed} of {len(bugs)} planted bugs found")
        return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
