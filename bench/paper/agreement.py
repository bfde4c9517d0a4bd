#!/usr/bin/env python3
"""Does the simulator predict a live run? The demo's cluster, each policy live and simulated.

    bench/paper/agreement.py                  ten minutes, on a machine that does nothing else
    bench/paper/agreement.py --runs 1         two minutes

Records one live run under asp, simulates each policy on what it recorded, and also on the bare step
floors (60, 60, 60, 180 ms); then trains live, the policies in turn. Compared are the medians of the
live runs: the step rate within 10 %, each worker's waiting share within 0.03. Exits 1 if what was
recorded does not predict that. The bare floors are shown, not judged: they leave out what a
transfer takes and what a processor shared by all processes costs.
"""

import os
import statistics
import sys
import tempfile
import pathlib

import common

POLICIES = ["bsp", "asp", "ssp:3", "dssp:3-15", "elastic_bsp:15"]
WORKERS = 4
RATE, WAIT = 0.10, 0.03


def live(args, policy, seed, folder):
    command = [args.paceline, "train", common.DEMO, "--sync", policy, "--json", "--set", f"run.seed={seed}",
               "--set", f"run.dir={folder}", "--set", f"train.samples={args.samples}"]
    return common.run([str(part) for part in command])


def figures_of(answer):
    """Steps a second, and the waiting share of each worker."""
    return sum(answer["steps"]) / answer["seconds"], answer["wait_share"]


def middle(runs):
    rates, waits = zip(*map(figures_of, runs))
    return statistics.median(rates), [statistics.median(worker) for worker in zip(*waits)]


def distance(predicted, measured):
    """Of the rate, as a share of what was measured; the most of any worker's waiting share."""
    return predicted[0] / measured[0] - 1, max(abs(p - m) for p, m in zip(predicted[1], measured[1]))


def shares(waits):
    return " ".join(f"{wait:.3f}" for wait in waits)


def main():
    parser = common.parser(__doc__, 1)
    parser.add_argument("--runs", type=int, default=5, help="live ones of each policy; 5")
    parser.add_argument("--samples", type=int, default=20000, help="20000")
    parser.add_argument("--policies", nargs="+", default=POLICIES)
    args = parser.parse_args()
    if args.quick:
        args.runs, args.samples = 1, 3200

    load = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as folder:
        recording = live(args, "asp", 100, folder)
        path = pathlib.Path(folder) / recording["run"]
        steps = args.samples // 32 // WORKERS
        recorded = common.sim(args, args.policies, str(path), seeds=1, steps=steps)
        bare = common.sim(args, args.policies, common.uneven([0.06, 0.06, 0.06, 0.18]), seeds=1, steps=steps)
        runs = {policy: [] for policy in args.policies}
        for seed in range(1, args.runs + 1):
            for policy in args.policies:
                runs[policy].append(live(args, policy, seed, folder))
                load.append(os.getloadavg()[0])

    rows, claims = [], common.Claims()
    for policy in args.policies:
        measured = middle(runs[policy])
        rates = [figures_of(run)[0] for run in runs[policy]]
        rows.append([f"`{policy}`", "live", measured[0], f"{min(rates):.2f} .. {max(rates):.2f}", "", shares(measured[1]), ""])
        for name, simulated in (("recorded", recorded), ("floors alone", bare)):
            predicted = figures_of(simulated[policy])
            off = distance(predicted, measured)
            rows.append([f"`{policy}`", name, predicted[0], "", f"{100 * off[0]:+.1f} %", shares(predicted[1]), f"{off[1]:.3f}"])
    print(common.table(["policy", "source", "steps/s", "range", "off by", "waiting share of each worker", "furthest"], rows))
    print(f"\nload average while it ran: {min(load):.1f} to {max(load):.1f}, {os.cpu_count()} processors; {args.runs} live runs each")
    for policy in args.policies:
        off = distance(figures_of(recorded[policy]), middle(runs[policy]))
        claims.at_most(f"{policy}, step rate off by", abs(off[0]), RATE)
        claims.at_most(f"{policy}, waiting share off by", off[1], WAIT)
    return common.finish(args, {"agreement": rows, "load": load}, claims)


if __name__ == "__main__":
    sys.exit(main())
