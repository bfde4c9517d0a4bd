#!/usr/bin/env python3
"""Plants bugs in the configuration, summaries, run folders and reports of paceline/node, one at a
time, and says which of them the unit tests find.

    tests/planted/node.py [NAME ...]     all, or those named

Works on a copy in a temporary folder; the tree is not touched. Exit code 1 if a bug was missed, or
could no longer be planted because the source has changed.
"""

import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILE = ["g++", "-std=c++20", "-O0", "-I."]
FOLDERS = {
    "base": ["bytes", "check", "hash", "random", "text"],
    "optim": ["adam", "mean", "optimizer", "schedule", "sgd"],
    "sync": ["asp", "bsp", "dssp", "dssp_literal", "elastic_bsp", "policy_base", "registry", "ssp",
             "zipline"],
    "roles": ["run_stats"],
    "node": ["chart", "config", "report", "report_text", "run_folder", "summary", "table",
             "config_test", "report_test", "run_folder_test", "summary_test"],
}

# name: (file, what is there, what is planted). The text must be there exactly once.
BUGS = {
    "a_tiny_epoch_is_no_sample": (
        "config", "std::max<std::uint64_t>(1, static_cast<std::uint64_t>(samples + 0.5))",
        "static_cast<std::uint64_t>(samples + 0.5)"),
    "the_budget_of_an_option_adds_up": (
        "config", 'if (override.key == "train.epochs") config_.train.samples.reset();', ""),
    "errors_of_other_folders_lose_their_line": (
        "config", "error.where = place_of(error.where);", ""),
    "large_numbers_without_a_point": ("config", 'text + ".0" : text', "text : text"),
    "control_characters_as_they_are": ("config", "byte < 0x20 || byte == 0x7f", "byte < 0x20"),
    "too_large_numbers_are_cut": ("config", "|| !std::in_range<T>(*value)", ""),
    "numbers_need_not_be_finite": (
        "config", "value && std::isfinite(*value) ? value", "value ? value"),
    "floors_for_other_workers": (
        "config", "cluster.step_floor_ms.size() != cluster.workers", "false"),
    "tls_without_tcp": ("config", "cluster.tls && cluster.transport", "false && cluster.transport"),
    "ports_above_the_last": ("config", "*port > std::numeric_limits<std::uint16_t>::max()", "false"),
    "settings_that_say_something_left_out": (
        "config", "!key.relevant(config) && text == key.print(defaults)", "!key.relevant(config)"),
    "an_option_sets_two_keys": ("config", "parsed.table().size() != 1", "false"),
    "the_coordinator_forgets_the_seed": ("config", "options.seed = config.run.seed;", ""),
    "no_policy_is_wrong": ("config", "if (!policy) return at", "if (false) return at"),
    "seconds_from_the_start_of_the_command": (
        "summary", "stats.last_applied - stats.started", "stats.last_applied"),
    "waiting_in_seconds": ("summary", "to_seconds(worker.waited) / *seconds", "to_seconds(worker.waited)"),
    "accuracy_of_the_first": ("summary", "stats.evaluations.back()", "stats.evaluations.front()"),
    "shares_of_no_time": ("summary", "!seconds || *seconds <= 0", "!seconds"),
    "a_torn_summary_is_one": (
        "summary", '|| !summary.contains("policy")', '&& !summary.contains("policy")'),
    "refusals_are_the_users_fault": ("summary", "case Code::Refused:\n      return 5;", "case Code::Refused:\n      return 2;"),
    "runs_share_a_folder": (
        "run_folder", "if (fs::create_directory(run.path, error)) break;",
        "if (fs::create_directory(run.path, error) || !error) break;"),
    "the_latest_is_a_run_twice": ("run_folder", "!entry.is_symlink(error) && is_run", "is_run"),
    "a_failed_write_leaves_its_rest": ("run_folder", "    fs::remove(fresh, error);\n    return refused", "    return refused"),
    "words_are_not_escaped": ("chart", 'out += "&lt;";', "out += c;"),
    "curves_upside_down": (
        "chart", "return kHeight - kBottom - (value - y.low)", "return kTop + (value - y.low)"),
    "a_flat_curve_divides_by_nothing": ("chart", "if (x.high <= 0) x.high = 1;", ""),
    "runs_of_one_name": ("report", "if (differ(policy)) return policy;", "return policy;"),
    "per_cent_of_per_cent": (
        "report_text", 'cat(fixed(*share * 100, 1), " %")', 'cat(fixed(*share, 1), " %")'),
}


def run(command, folder, **more):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, **more)


def compile_one(folder, source, target):
    done = run(COMPILE + ["-c", source, "-o", target], folder)
    if done.returncode != 0:
        raise SystemExit(f"{source} does not compile:\n{done.stderr}")


def prepare(folder):
    """The copy, all of it compiled as it is: {name: object}."""
    for part in [*FOLDERS, "wire", "membership"]:  # of the last two only headers
        shutil.copytree(ROOT / "paceline" / part, folder / "paceline" / part)
    sources = {f"{part}_{name}": f"paceline/{part}/{name}.cc"
               for part, names in FOLDERS.items() for name in names}
    objects = {name: f"{name}.o" for name in sources}
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: compile_one(folder, sources[name], objects[name]), sources))
    return objects


def tests_fail(folder, objects, program):
    linked = run(["g++", *objects.values(), "-o", program, "-lgmock_main", "-lgmock", "-lgtest",
                  "-lcrypto", "-lpthread"], folder)
    if linked.returncode != 0:
        raise SystemExit(f"{program} does not link:\n{linked.stderr}")
    return run([f"./{program}", "--gtest_brief=1"], folder, timeout=300).returncode != 0


def plant(folder, objects, bug):
    """True if the tests find it, False if not, None if it cannot be planted."""
    unit, there, planted = BUGS[bug]
    text = (folder / f"paceline/node/{unit}.cc").read_text()
    if text.count(there) != 1:
        return None
    source = f"paceline/node/{bug}.planted.cc"
    (folder / source).write_text(text.replace(there, planted))
    compile_one(folder, source, f"{bug}.o")
    return tests_fail(folder, objects | {f"node_{unit}": f"{bug}.o"}, f"{bug}.program")


def main():
    bugs = sys.argv[1:] or list(BUGS)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        folder = Path(name)
        objects = prepare(folder)
        if tests_fail(folder, objects, "unplanted.program"):
            raise SystemExit("the tests fail with no bug planted")
        found = dict(zip(bugs, pool.map(lambda bug: plant(folder, objects, bug), bugs)))
    for bug, result in found.items():
        print(f"{ {True: 'found', False: 'MISSED', None: 'NOT PLANTED'}[result]:12}{bug}")
    print(f"{sum(result is True for result in found.values())} of {len(found)} found")
    return 0 if all(found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
