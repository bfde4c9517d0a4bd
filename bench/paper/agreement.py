#!/usr/bin/env python3
"""Does the simulator say what a live run does? The demo's cluster, each policy live and simulated.

    bench/paper/agreement.py                     five live runs a policy, 20,000 samples each
    bench/paper/agreement.py --repeats 1 --policies bsp asp

Simulated twice: on the ready cluster `demo`, which knows the step floors of examples/demo.toml and
nothing else, and on a recorded live run under asp, which knows what the steps and transfers of this
machine took. Prints a table in Markdown: median steps a second and each worker's share of waiting,
live and simulated. Exits 1 if `demo` is off by more than 10 % of the rate, or 0.03 of the time for a
worker's waiting. Live runs of all policies take turns, so that what disturbs the machine disturbs all.
Takes about 25 s a live run.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
POLICIES = ["bsp", "asp", "ssp:3", "dssp:3-15", "elastic_bsp:15"]
RATE = 0.10  # of the live rate
WAIT = 0.03  # of the time


def paceline(*words, folder):
    done = subprocess.run([ROOT / "build/release/bin/paceline", *map(str, words), "--json"], cwd=folder,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"paceline {' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def live(policy, arguments, folder):
    run = paceline("train", ROOT / "examples/demo.toml", "--sync", policy, "--set",
                   f"train.samples={arguments.samples}", "--set", "train.evaluate=false",
                   *(["--set", f"model.name={arguments.model}"] if arguments.model else []), folder=folder)
    return {"rate": run["pushes"]["applied"] / run["seconds"], "wait": run["wait_share"], "run": run["run"]}


def simulated(policy, cluster, arguments, folder):
    steps = arguments.samples // 32 // 4
    out = paceline("sim", "--cluster", cluster, "--compare", policy, "--steps", steps, "--no-report",
                   folder=folder)["policies"][0]
    return {"rate": out["steps_per_second"], "wait": out["wait_share"]}


def median_of(runs):
    return {"rate": statistics.median(run["rate"] for run in runs),
            "wait": [statistics.median(waits) for waits in zip(*(run["wait"] for run in runs))]}


def off(predicted, real):
    """Share of the rate, and the worst worker's waiting."""
    return (predicted["rate"] / real["rate"] - 1,
            max(abs(a - b) for a, b in zip(predicted["wait"], real["wait"])))


def waits(result):
    return " ".join(f"{share:.3f}" for share in result["wait"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--samples", type=int, default=20000)
    parser.add_argument("--policies", nargs="+", default=POLICIES)
    parser.add_argument("--model", help="instead of the demo's")
    arguments = parser.parse_args()
    runs = {policy: [] for policy in arguments.policies}
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        recorded = live("asp", arguments, folder)["run"]
        for repeat in range(arguments.repeats):
            for policy in arguments.policies:
                runs[policy].append(live(policy, arguments, folder))
                print(f"{policy}, {repeat + 1} of {arguments.repeats}: "
                      f"{runs[policy][-1]['rate']:.2f} steps a second", file=sys.stderr)
        print("| policy | live: steps/s | waiting | `demo`: steps/s | waiting | off by | recorded: steps/s | "
              "waiting | off by |\n|---|---|---|---|---|---|---|---|---|")
        for policy in arguments.policies:
            real = median_of(runs[policy])
            row = [f"`{policy}`", f"{real['rate']:.2f}", waits(real)]
            for cluster in ("demo", pathlib.Path("runs") / recorded):
                result = simulated(policy, cluster, arguments, folder)
                rate, wait = off(result, real)
                row += [f"{result['rate']:.2f}", waits(result), f"{100 * rate:+.1f} %, {wait:.3f}"]
                if cluster == "demo" and (abs(rate) > RATE or wait > WAIT):
                    failed.append(policy)
            print("| " + " | ".join(row) + " |", flush=True)
    if failed:
        print(f"\nfurther off than {RATE:.0%} or {WAIT}: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
