#!/usr/bin/env python3
"""What momentum costs under asynchrony: BSP and ElasticBSP on the demo's cluster (60, 60, 60, 180 ms).

    bench/paper/a3a.py                 all rows, about 18 runs of half a minute to a minute each
    bench/paper/a3a.py --rows cnn9     those whose name begins so

Published: what the algorithms' study measured with its own simulator and its own training code; the
orders of samples differ from ours, so the spread over seeds is what can agree. Target accuracy 0.88.
"""

import sys

import common

TARGET = 0.88
BATCH = 32
CLUSTER = common.uneven([0.06, 0.06, 0.06, 0.18])

# name, settings, seeds, published: (BSP's finals, seconds), (ElasticBSP's finals, seconds)
ROWS = [
    ("cnn0", "CNN, lr .4, momentum 0, 120k", {"optimizer.lr": 0.4, "optimizer.momentum": 0, "train.samples": 120000},
     [1], ([0.884], [122]), ([0.885], [57])),
    ("cnn0long", "CNN, lr .4, momentum 0, 180k", {"optimizer.lr": 0.4, "optimizer.momentum": 0, "train.samples": 180000},
     [2, 3], ([0.897, 0.891], [122, 165]), ([0.895, 0.897], [54, 50])),
    ("cnn9", "CNN, lr .05, momentum .9, 120k", {"optimizer.lr": 0.05, "optimizer.momentum": 0.9, "train.samples": 120000},
     [1, 2, 3], ([0.895, 0.892, 0.893], [87, 87, 96]), ([0.886, 0.885, 0.880], [46, 50, 68])),
    ("lenet9", "LeNet, lr .05, momentum .9, 120k",
     {"model.name": "lenet", "optimizer.lr": 0.05, "optimizer.momentum": 0.9, "train.samples": 120000},
     [1, 2, 3], ([0.879, 0.883, 0.883], [common.NEVER, 139, 148]), ([0.856, 0.848, 0.863], [common.NEVER] * 3)),
]
POLICIES = ["bsp", "elastic_bsp:15"]


def main():
    parser = common.parser(__doc__, 3)
    parser.add_argument("--rows", default="", metavar="PREFIX")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="for every run")
    args = parser.parse_args()

    header = ["row", "policy", "seed", "final: published", "measured", "s to 0.88: published", "measured", "ratio"]
    rows, figures, claims = [], {"rows": []}, common.Claims()
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)
    for name, title, settings, seeds, *published in ROWS:
        if not name.startswith(args.rows) or (args.quick and name != "cnn0"):
            continue
        settings = {**settings, "train.target_accuracy": TARGET, "optimizer.momentum_scale": "none", **dict(s.split("=", 1) for s in args.set)}
        if args.quick:
            settings |= {"model.name": "softmax", "train.samples": 6000}
        for i, seed in enumerate(seeds):
            measured = common.sim(args, POLICIES, CLUSTER, seed=seed, seeds=1, settings=settings)
            for policy, (finals, times) in zip(POLICIES, published):
                run = measured[policy]["by_seed"][0]
                seconds = common.seconds_to(run["evaluations"], TARGET)
                row = [title, policy, seed, finals[i], run["test_accuracy"], times[i], seconds,
                       common.ratio(seconds, times[i])]
                rows.append(row)
                figures["rows"].append(dict(zip(header, row)))
                cells = [str(c) if isinstance(c, (str, int)) else common.text(c, 3 if c < 1 else 1) if c is not None else ""
                         for c in row]
                print(f"| {' | '.join(cells)} |", flush=True)
    return common.finish(args, figures, claims)


if __name__ == "__main__":
    sys.exit(main())
