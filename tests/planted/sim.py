#!/usr/bin/env python3
"""Plants bugs in how paceline/sim reads clusters and compares, and sees whether its tests find them.

    tests/planted/sim.py [--only WORD] [--dir FOLDER]
"""

import sys

import planted

# file in paceline/sim, what stands there, what a slip would make of it
BUGS = [
    ("lined_json.cc", "*read_ - 1)", "*read_)"),
    ("lined_json.cc", "    counted_ = until;\n", ""),
    ("lined_json.cc", "(is_open ? 1 : 0)", "1"),
    ("lined_json.cc", "if (open_.size() == kDeepest)", "if (false)"),
    ("lined_json.cc", "if (is_known) return", "if (false) return"),
    ("cluster_file.cc", "value.number >= range.low &&", ""),
    ("cluster_file.cc", "&& value.number <= range.high", ""),
    ("cluster_file.cc", "std::floor(value.number) == value.number", "true"),
    ("cluster_file.cc", "(value == nullptr ? object_ : value)->line", "object_->line"),
    ("cluster_file.cc", "if (error_) return;\n    error_", "error_"),
    ("cluster_file.cc", "LinkSpec link = otherwise;", "LinkSpec link;"),
    ("cluster_file.cc", "kBandwidth{1,", "kBandwidth{0,"),
    ("cluster_file.cc", "kStep{kShortest,", "kStep{0,"),
    ("cluster_file.cc", "if (uniform.high < uniform.low)", "if (false)"),
    ("cluster_file.cc", "if (tail.min > tail.mean)", "if (false)"),
    ("cluster_file.cc", "phase.until <= phase.from", "phase.until < phase.from"),
    ("cluster_file.cc", "*phase.every < phase.until - phase.from", "false"),
    ("cluster_file.cc", "pause.at < pauses.back().at + pauses.back().length", "false"),
    ("cluster_file.cc", "*stay.leaves <= stay.joins", "*stay.leaves < stay.joins"),
    ("cluster_file.cc", "stay.dies = true;", ""),
    ("cluster_file.cc", "next.joins <= *left", "next.joins < *left - 100"),
    ("cluster_file.cc", "once.joins != 0 || once.leaves", "false"),
    ("cluster_file.cc", "kMostWorkers - static_cast<double>(spec.workers.size())", "kMostWorkers"),
    ("cluster_file.cc", "static_cast<std::size_t>(count), made)", "1, made)"),
    ("cluster_file.cc", "worker.speed.slow = slow(fields);", "slow(fields);"),
    ("cluster_file.cc", "worker.pauses = pauses(fields);", "pauses(fields);"),
    ("cluster_file.cc", "fields.refuse_others();\n    if (count", "if (count"),
    ("cluster_file.cc", "workers(fields, spec);\n  fields.refuse_others();", "workers(fields, spec);"),
    ("cluster_spec.cc", ": Fault::Kind::Stop", ": Fault::Kind::Kill"),
    ("cluster_spec.cc", "worker.presence[i + 1].joins - *stay.leaves", "worker.presence[i + 1].joins"),
    ("cluster_spec.cc", "scenario.speeds.clear();", ""),
    ("cluster_spec.cc", "if (!is_late) return;", ""),
    ("cluster_spec.cc", "scenario.service_time = from_seconds(cluster.service_time);", ""),
    ("cluster_spec.cc", "bytes_per_second(worker.link->bandwidth)", "0"),
    ("traces.cc", "    worker.released.reset();\n    if (!worker.presence", "    if (!worker.presence"),
    ("traces.cc", "    }\n    worker.released.reset();\n", "    }\n"),
    ("traces.cc", "*stay.leaves >= end", "false"),
    ("traces.cc", "presence.back().leaves = stay.leaves;\n      continue;", "continue;"),
    ("traces.cc", "if (!start_) start_ = event.now;", "start_ = event.now;"),
    ("traces.cc", "if (event.now < last_)", "if (false)"),
    ("traces.cc", "if (worker.steps.empty()) continue;", ""),
    ("traces.cc", "rows[w].size() != rows.front().size()", "false"),
    ("traces.cc", "cat(where, \":\", w + 1)", "cat(where, \":\", w)"),
    ("traces.cc", "      last = rows[w][i];\n", ""),
    ("traces.cc", "step >= 1e-9 &&", ""),
    ("compare.cc", ".clock_gap_max = stats.clock_gap_max,", ""),
    ("compare.cc", "if (experiment_.seconds && result.exit_code == -1)", "if (false)"),
    ("compare.cc", "*experiment_.steps * run.workers", "*experiment_.steps"),
    ("compare.cc", "hash.update(\"\\n\");", ""),
    ("compare.cc", "run.seed = seed_;", ""),
    ("compare.cc", "scenario.seed = seed_;", ""),
    ("compare.cc", "pushes > 1 && !is_full()", "!is_full()"),
]

if __name__ == "__main__":
    sys.exit(planted.main(__doc__, BUGS, ["base", "sync", "optim", "membership", "wire", "roles", "sim"],
                          ["tests/transcripts", "tests/corpus"]))
