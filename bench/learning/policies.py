#!/usr/bin/env python3
"""Does every policy learn as well as serial SGD from the same number of samples?

Trains examples/demo.toml live under each policy, and the same model in one process without servers
(the mean of four batches an update, as BSP makes it), and prints a table in Markdown: final test
accuracy, its distance from the serial one in points, seconds, staleness.

    bench/learning/policies.py                                   lr 0.4, momentum 0
    bench/learning/policies.py --lr 0.05 --momentum 0.9          where asynchrony costs accuracy
    bench/learning/policies.py --seeds 1 2 3 --policies bsp asp

Takes one to four minutes a run on two cores; with --floors 30 30 30 90 half of that. Exits 1 if a policy is off by more than --limit.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "build" / "release" / "bin"
POLICIES = ["bsp", "asp", "ssp:3", "dssp:3-15", "dssp_literal:3-15", "elastic_bsp:15"]


def serial(args, seed):
    command = [BIN / "train_serial", "cnn", seed, args.lr, args.momentum, args.samples, 4, 32, 0.05]
    output = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    return float(re.search(r"test accuracy ([0-9.]+)", output.stdout).group(1))


def live(args, policy, seed):
    command = [
        BIN / "paceline", "train", ROOT / "examples" / "demo.toml", "--sync", policy, "--json",
        "--set", f"run.seed={seed}", "--set", f"optimizer.lr={args.lr}",
        "--set", f"optimizer.momentum={args.momentum}",
        "--set", f"optimizer.momentum_scale={args.momentum_scale}", "--set", f"train.samples={args.samples}",
    ]
    if args.floors:
        command += ["--set", f"cluster.step_floor_ms={args.floors}"]
    output = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(output.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lr", type=float, default=0.4)
    parser.add_argument("--momentum", type=float, default=0.0)
    parser.add_argument("--momentum-scale", default="none", help="none, as the papers have it")
    parser.add_argument("--samples", type=int, default=150000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--policies", nargs="+", default=POLICIES)
    parser.add_argument("--floors", type=int, nargs="+", metavar="MS",
                        help="step floors of the four workers; as in the configuration")
    parser.add_argument("--limit", type=float, default=1.5, help="points; 1.5")
    args = parser.parse_args()

    reference = {seed: serial(args, seed) for seed in args.seeds}
    print("| policy | test accuracy | points from serial | seconds | staleness p50, max |")
    print("|---|---|---|---|---|")
    print(f"| serial | {' '.join(f'{reference[s]:.4f}' for s in args.seeds)} | | | |", flush=True)
    worst = 0.0
    for policy in args.policies:
        runs = [live(args, policy, seed) for seed in args.seeds]
        accuracies = [run["test_accuracy"] for run in runs]
        points = [100 * (a - reference[s]) for a, s in zip(accuracies, args.seeds)]
        worst = min(worst, *points)
        print(
            f"| `{policy}` | {' '.join(f'{a:.4f}' for a in accuracies)} "
            f"| {' '.join(f'{p:+.2f}' for p in points)} "
            f"| {statistics.median(run['seconds'] for run in runs):.0f} "
            f"| {runs[0]['staleness']['p50']}, {max(run['staleness']['max'] for run in runs)} |",
            flush=True,
        )
    return 1 if worst < -args.limit else 0


if __name__ == "__main__":
    sys.exit(main())
