#!/usr/bin/env python3
"""DSSP's Table I: two workers, one about 1.9 times slower; which policy is how much faster than BSP?

    bench/paper/table1.py                                two minutes
    bench/paper/table1.py --dataset cifar100 --data DIR  the paper's data and model, days
    bench/paper/table1.py --only throughput              or training

Published: Zhao et al., ICDCS 2019, Table I (GTX 1060 and GTX 1080 Ti, ResNet-110, CIFAR-100), the
middle of three runs. `dssp_literal` is the printed algorithm, `dssp` the one whose gap is bounded.
Exits 1 if a claim fails.
"""

import statistics
import sys

import common

STEPS = [1.0, 1.9]
BSP_67 = 6159.2
# seconds to .67, to .68
PUBLISHED = {
    "bsp": (6159.2, common.NEVER), "asp": (2993.1, 3017.2), "ssp:3": (5678.2, common.NEVER),
    "ssp:6": (5703.8, 6908.2), "ssp:15": (5564.9, 7255.6), "dssp_literal:3-15": (3016.4, 3046.3), "dssp:3-15": (3016.4, 3046.3),
}
POLICIES = list(PUBLISHED)


def faster(policy):
    return BSP_67 / PUBLISHED[policy][0]


def throughput(args, claims):
    rows = []
    seconds = 400 if args.quick else 4000
    found = {}
    for jitter in (0.0, 0.03):
        measured = common.sim(args, POLICIES, common.uneven(STEPS, jitter), seconds=seconds)
        base = measured["bsp"]
        for policy in POLICIES:
            one = measured[policy]
            pace, total = one["steps"][0] / base["steps"][0], one["pushes"] / base["pushes"]
            found[policy, jitter] = one
            span = one["spread"]["pushes"]
            rows.append([f"{100 * jitter:.0f} %", f"`{policy}`", f"{faster(policy):.2f}", f"{pace:.2f}", f"{pace / faster(policy):.2f}", f"{total:.2f}",
                         f"{span[0] / base['pushes']:.2f} .. {span[1] / base['pushes']:.2f}",
                         str(round(one["clock_gap_max"])), f"{one['steps_per_second']:.3f}"])
    print(common.table(["jitter", "policy", "faster than bsp: published", "fast worker's steps, measured", "ratio", "all steps, measured", "by seed",
                        "largest gap", "steps/s"], rows))
    for jitter in (0.0, 0.03):
        share = found["dssp_literal:3-15", jitter]["pushes"] / found["asp", jitter]["pushes"]
        claims.at_least(f"dssp_literal, pushes over asp's, jitter {jitter}", share, 0.95)
        bound = 1.05 if not args.quick else 1.2
        for policy in ("ssp:15", "dssp:3-15"):
            share = found[policy, jitter]["pushes"] / found["bsp", jitter]["pushes"]
            claims.at_most(f"{policy}, pushes over bsp's, jitter {jitter}", share, bound)
    return {"throughput": rows}


def training(args, claims):
    settings = common.task_of(args)
    target = settings["train.target_accuracy"]
    measured = common.sim(args, POLICIES, common.uneven(STEPS, args.jitter), settings=settings)
    times = {policy: common.times_to(measured[policy], target) for policy in POLICIES}
    base = common.median(times["bsp"])
    rows = []
    for policy in POLICIES:
        middle = common.median(times[policy])
        finals = [run["test_accuracy"] for run in measured[policy]["by_seed"]]
        quotient = None if common.NEVER in (base, middle) else base / middle
        rows.append([f"`{policy}`", PUBLISHED[policy][0], f"{faster(policy):.2f}", middle, f"{min(times[policy]):.0f} .. {max(times[policy]):.0f}",
                     quotient, None if quotient is None else quotient / faster(policy), f"{statistics.median(finals):.4f}"])
    print(common.table(["policy", "published s to 0.67", "faster than bsp: published", f"measured s to {target}", "by seed", "faster than bsp: measured",
                        "ratio", "final accuracy"], rows))
    return {"training": rows}


PARTS = {"throughput": throughput, "training": training}


def main():
    parser = common.parser(__doc__, 5)
    common.add_task(parser, 150000)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--jitter", type=float, default=0.03, help="of the training's cluster; 0.03")
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
