#!/usr/bin/env python3
"""ElasticBSP against BSP, ASP, SSP and DSSP: throughput on four clusters, and learning on one.

    bench/paper/elastic.py                              all of it, five minutes on two cores
    bench/paper/elastic.py --dataset cifar10 --data DIR ICDM 2019's data and model, hours
    bench/paper/elastic.py --only throughput            or lookahead, training

Published: the algorithms' study, section C.7 (its own simulator, zero network cost), and ICDM 2019
and DSAA 2021 (GPUs). Exits 1 if a claim fails. The cluster of the training is four workers of 1,
1.1, 1.3 and 2 s with 5 % jitter.
"""

import json
import random
import statistics
import subprocess
import sys

import common

SECONDS = 3000
TOLERANCE = 0.02
UNEVEN = ([1, 1.1, 1.3, 2], 0.05)
# cluster; pushes of BSP, SSP(3), ASP; of predictor=last with R = 4, 15, 60; of a running mean
PUSHES = [
    ("1, 1.1, 1.3, 2; 5 %", *UNEVEN, [5996, 6005, 9531, 9157, 9293, 9273, 9189, 9384, 9443],
     [3.9, 2.5, 2.7, 3.6, 1.5, 0.9]),
    ("7 x 1 and 3; 5 %", [1] * 7 + [3], 0.05, [8010, 8031, 21997, 21665, 21590, 21360, 21662, 21663, 21665],
     [1.5, 1.8, 2.9, 1.5, 1.5, 1.5]),
    ("4 x 1; 5 %", [1] * 4, 0.05, [11648, 11995, 11997, 11795, 11748, 11647, 11802, 11809, 11820],
     [1.7, 2.1, 2.9, 1.6, 1.6, 1.5]),
    ("4 x 1; 30 %", [1] * 4, 0.3, [10163, 11891, 11989, 10607, 10362, 10160, 11054, 11288, 11406],
     [11.5, 13.6, 15.2, 7.8, 5.8, 4.8]),
]
ELASTIC = [f"elastic_bsp:{r},predictor={p}" for p in ("last", "mean") for r in (4, 15, 60)]
POLICIES = ["bsp", "ssp:3", "asp", *ELASTIC]
# R: mean d*, mean superstep, waiting share in percent; 200 draws of four intervals in [1, 1.5]
LOOKAHEAD = {1: (0.306, 1.41, 21.7), 4: (0.288, 1.77, 16.2), 8: (0.272, 2.58, 10.5), 15: (0.246, 4.98, 4.9),
             30: (0.212, 11.5, 1.9), 60: (0.171, 26.7, 0.6), 240: (0.111, 116, 0.1)}


def throughput(args, claims):
    rows, worst = [], 0.0
    for name, steps, jitter, pushes, idle in PUSHES:
        cluster = common.uneven(steps, jitter)
        seconds = 300 if args.quick else SECONDS
        measured = common.sim(args, POLICIES, cluster, seeds=min(args.seeds, 3), seconds=seconds)
        for policy, published, share in zip(POLICIES, pushes, [None] * 3 + idle):
            found = measured[policy]["pushes"] * SECONDS / seconds
            waits = 100 * measured[policy]["wait_share_mean"]
            quotient = common.ratio(found, published)
            worst = max(worst, abs(quotient - 1))
            rows.append([name, f"`{policy}`", published, found, f"{quotient:.3f}", share, waits])
    print(common.table(["cluster", "policy", "pushes: published", "measured", "ratio", "idle %: published", "measured"], rows))
    claims.at_most("C.7, furthest ratio from 1", worst, TOLERANCE)
    uneven = common.sim(args, ["asp", "ssp:3", "elastic_bsp:15"], common.uneven(*UNEVEN), seconds=SECONDS)
    elastic = uneven["elastic_bsp:15"]
    claims.at_least("elastic_bsp:15, pushes over asp's", elastic["pushes"] / uneven["asp"]["pushes"], 0.97)
    claims.at_least("elastic_bsp:15, pushes over ssp:3's", elastic["pushes"] / uneven["ssp:3"]["pushes"], 1.53)
    claims.at_most("elastic_bsp:15, idle share", elastic["wait_share_mean"], 0.02)
    return {"throughput": rows}


def superstep(args, r, intervals):
    rows = "\n".join(" ".join(repr(i * interval) for i in range(1, r + 1)) for interval in intervals)
    done = subprocess.run([args.paceline, "zipline", "-", "--json"], input=rows, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def error(values):
    return statistics.stdev(values) / len(values) ** 0.5


def lookahead(args, claims):
    rows = []
    for r, published in LOOKAHEAD.items():
        rng = random.Random(1)
        draws = [superstep(args, r, [rng.uniform(1, 1.5) for _ in range(4)]) for _ in range(5 if args.quick else 200)]
        waits = [d["wait"] for d in draws]
        lengths = [d["barrier"] for d in draws]
        wait, length = statistics.mean(waits), statistics.mean(lengths)
        rows.append([str(r), f"{published[0]}", f"{wait:.3f}", f"{published[1]}", f"{length:.3g} ± {error(lengths):.2g}",
                     f"{published[2]}", f"{100 * wait / length:.1f}"])
    print(common.table(["R", "d*: published", "measured", "superstep: published", "measured", "d* over superstep, %: published",
                        "measured"], rows))
    print("±: standard error of our mean; the published one, of as many other draws, has the same")
    return {"lookahead": rows}


def training(args, claims):
    lookaheads = [15] if args.quick else [15, 30, 60, 120, 240]
    elastic = [f"elastic_bsp:{r},predictor={p}" for p in ("last", "mean") for r in lookaheads]
    policies = ["bsp", "asp", "ssp:3", "dssp:3-15", *elastic]
    settings = common.task_of(args)
    target = settings["train.target_accuracy"]
    measured = common.sim(args, policies, common.uneven(*UNEVEN), settings=settings)
    rows, found = [], {}
    for policy in policies:
        one = measured[policy]
        times = common.times_to(one, target)
        finals = [run["test_accuracy"] for run in one["by_seed"]]
        found[policy] = (common.median(times), statistics.median(finals))
        lasts = statistics.median(run["seconds"] for run in one["by_seed"])
        rows.append([f"`{policy}`", lasts, found[policy][0], f"{min(times):.0f} .. {max(times):.0f}",
                     common.ratio(found[policy][0], found["bsp"][0]), f"{found[policy][1]:.4f}",
                     f"{min(finals):.4f} .. {max(finals):.4f}", one["staleness"]["max"]])
    print(common.table(["policy", "s to the end", f"s to {target}", "range", "over bsp", "final", "range", "staleness, max"], rows))
    ours = found["elastic_bsp:15,predictor=mean"]
    for other in ("bsp", "ssp:3"):
        claims.at_most(f"elastic_bsp:15, time to {target} over {other}'s", ours[0] / found[other][0], 0.72)
    claims.at_least("elastic_bsp:15, final accuracy against bsp's, points", 100 * (ours[1] - found["bsp"][1]), -0.5)
    print(f"ElasticBSP faster than BSP to the target: published 1.77 (DSAA 2021; 1.58 read off), measured {found['bsp'][0] / ours[0]:.2f}")
    return {"training": rows}


PARTS = {"throughput": throughput, "lookahead": lookahead, "training": training}


def main():
    parser = common.parser(__doc__, 5)
    common.add_task(parser, 150000)
    parser.add_argument("--only", choices=PARTS)
    args = parser.parse_args()
    if args.quick:
        args.seeds = 1
    claims, figures = common.Claims(), {}
    for name, part in PARTS.items():
        if args.only in (None, name):
            print(f"\n{name}\n", flush=True)
            figures |= part(args, claims)
    return common.finish(args, figures, claims)


if __name__ == "__main__":
    sys.exit(main())
