#!/usr/bin/env python3
"""Is what `paceline advise` names really the best? Checked by running all its candidates, on other seeds.

    bench/paper/advise.py                     all ready clusters, some minutes
    bench/paper/advise.py --clusters equal uneven4

For each ready cluster: asks advise, then trains every candidate of its ranking with ten seeds that
advise did not see. The best of these is the true best. Exits 1 if what advise named takes over 10 %
longer than it.
"""

import pathlib
import statistics
import sys
import tempfile

import common

CLUSTERS = ["equal", "gpu_generations", "one_slow_of_eight", "heavy_tail", "preemptible", "two_sites", "uneven4", "demo"]
LIMIT = 0.10
FIRST_UNSEEN = 101
# The task that advise asks itself without --train, written out, so that `sim` can be given it.
TASK = """
[model]
name = "mlp_small"
[data]
name = "synthetic"
[train]
samples = 160000
batch_size = 32
target_accuracy = 0.88
eval_every_samples = 800
[optimizer]
lr = 0.4
momentum = 0.0
schedule = { name = "cosine", warmup = 0.05 }
"""


def mean_time(policy, target):
    """NEVER if a seed did not reach it: advise ranks those last too."""
    times = common.times_to(policy, target)
    return common.NEVER if common.NEVER in times else statistics.mean(times)


def main():
    parser = common.parser(__doc__, 10)
    parser.add_argument("--clusters", nargs="+", default=CLUSTERS, choices=CLUSTERS, metavar="NAME")
    args = parser.parse_args()
    if args.quick:
        args.clusters, args.seeds = ["uneven4"], 1

    rows, claims = [], common.Claims()
    with tempfile.TemporaryDirectory() as folder:
        task = pathlib.Path(folder) / "task.toml"
        task.write_text(TASK)
        for cluster in args.clusters:
            command = [args.paceline, "advise", "--cluster", cluster, "--train", task, "--jobs", args.jobs or 2, "--json"]
            answer = common.run([str(part) for part in command])
            candidates = [entry["policy"] for entry in answer["ranking"]]
            command = common.command_of(args, candidates, cluster, FIRST_UNSEEN, args.seeds)
            found = common.run([*command, "--train", str(task), "--set", "train.stop_at_target=true"])["policies"]
            times = {name: mean_time(one, answer["target_accuracy"]) for name, one in zip(candidates, found)}
            best = min(times, key=times.get)
            lost = times[answer["policy"]] / times[best] - 1
            rows.append([cluster, f"`{answer['policy']}`", answer["certainty"], times[answer["policy"]], f"`{best}`",
                         times[best], f"{100 * lost:.1f} %", str(answer["runs"]), str(len(candidates) * args.seeds)])
            claims.at_most(f"{cluster}: advice slower than the best by", lost, LIMIT)
    print(common.table(["cluster", "advice", "says it is", "s to target", "truly the best", "s to target", "lost", "runs of advise", "of the check"],
                       rows))
    return common.finish(args, {"advise": rows}, claims)


if __name__ == "__main__":
    sys.exit(main())
