#!/usr/bin/env python3
"""Momentum where gradients come late: each optimizer.momentum_scale, over seeds.

    bench/learning/momentum.py                       in the laboratory: real gradients, virtual time
    bench/learning/momentum.py --live                with real processes, the same steps in real time
    bench/learning/momentum.py --model mlp --cluster one_slow_of_eight

The configuration is that of the demo but for the rate and the momentum: Fashion-MNIST, 120,000
samples, cosine with a warm-up of 5 %. Under bsp the scales change nothing, so it runs once. A run of
the cnn takes about 40 s of one processor in the laboratory, and live as long as its steps take.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCALES = ["none", "samples", "staleness", "closed_loop", "backdated"]
CONFIG = """
[model]
name = "{model}"
[data]
name = "fashion_mnist"
[train]
samples = {samples}
target_accuracy = {target}
eval_every_samples = 6000
[optimizer]
lr = {lr}
momentum = {momentum}
momentum_scale = "{scale}"
schedule = {{ name = "cosine", warmup = 0.05 }}
[cluster]
workers = 4
step_floor_ms = [60, 60, 60, 180]
"""


def paceline(words, folder):
    done = subprocess.run([ROOT / "build/release/bin/paceline", *words, "--json"], cwd=folder,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"paceline {' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def simulated(arguments, policy, folder):
    cluster = ["--cluster", arguments.cluster] if arguments.cluster else []
    out = paceline(["sim", "--train", "c.toml", *cluster, "--compare", policy, "--seeds",
                    arguments.seeds, "--no-report"], folder)
    return out["policies"][0]["by_seed"]


def live(arguments, policy, folder):
    return [paceline(["train", "c.toml", "--sync", policy, "--set", f"run.seed={seed}"], folder)
            for seed in range(1, int(arguments.seeds) + 1)]


def cell(runs):
    accuracy = [run["test_accuracy"] for run in runs]
    seconds = [run["seconds_to_target"] for run in runs]
    reached = [s for s in seconds if s is not None]
    took = f"{statistics.median(reached):.1f}" if len(reached) > len(runs) / 2 else "never"
    return (f"{statistics.median(accuracy):.4f} | {min(accuracy):.4f} to {max(accuracy):.4f} | {took} | "
            f"{len(reached)} of {len(runs)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--live", action="store_true", help="real processes instead of the simulator")
    parser.add_argument("--model", default="cnn")
    parser.add_argument("--cluster", help="of the laboratory; else the configuration's step floors")
    parser.add_argument("--lr", default="0.05")
    parser.add_argument("--momentum", default="0.9")
    parser.add_argument("--samples", default="120000")
    parser.add_argument("--target", default="0.88")
    parser.add_argument("--seeds", default="5")
    parser.add_argument("--scales", default=",".join(SCALES))
    parser.add_argument("--policies", default="asp,elastic_bsp:15")
    arguments = parser.parse_args()
    run = live if arguments.live else simulated
    print(f"{arguments.model}, lr {arguments.lr}, momentum {arguments.momentum}, {arguments.samples} "
          f"samples, {arguments.cluster or 'step floors 60, 60, 60, 180 ms'}, "
          f"{'live' if arguments.live else 'simulated'}, {arguments.seeds} seeds\n")
    print("| policy | momentum_scale | accuracy, median | range | "
          f"seconds to {arguments.target}, median | reached |\n|---|---|---|---|---|---|")
    tries = [("bsp", "none")]
    tries += [(policy, scale) for policy in arguments.policies.split(",")
              for scale in arguments.scales.split(",")]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for policy, scale in tries:
            (folder / "c.toml").write_text(CONFIG.format(
                model=arguments.model, samples=arguments.samples, target=arguments.target,
                lr=arguments.lr, momentum=arguments.momentum, scale=scale))
            shown = "(any)" if policy == "bsp" else f"`{scale}`"
            print(f"| `{policy}` | {shown} | {cell(run(arguments, policy, folder))} |", flush=True)


if __name__ == "__main__":
    main()
