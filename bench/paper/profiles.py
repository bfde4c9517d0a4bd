#!/usr/bin/env python3
"""Does `paceline advise` pick the best policy? Every ready cluster, every candidate with every seed.

    bench/paper/profiles.py                        all ready clusters, five seeds
    bench/paper/profiles.py equal heavy_tail --seeds 3

advise tries the candidates with few seeds and only the best with all. Here all of them train with all
seeds, as `advise --compare` with one policy each does; the true best has the least mean virtual time to
the target over the seeds. Prints a table in Markdown; exits 1 if what advise picks takes more than 10 %
longer than the true best on any cluster. Takes about half a minute a cluster on two cores.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/release/bin/paceline"
MOST = 1.10


def advise(*words):
    done = subprocess.run([PROGRAM, "advise", *map(str, words), "--json"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"paceline advise {' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def ready_clusters():
    text = (ROOT / "docs/reference/cluster-file.md").read_text().split("## Ready ones")[1]
    return re.findall(r"^\| `(\w+)` \|", text, re.M)


def true_seconds(cluster, policy, seeds, target):
    """Mean virtual seconds to the target, if every seed reaches it."""
    alone = advise("--cluster", cluster, "--seeds", seeds, "--target", target, "--compare", policy)
    ranked = alone["ranking"][0]
    return ranked["seconds_to_target"] if ranked["reached"] == ranked["seeds"] == seeds else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clusters", nargs="*", help="all ready ones, if none is named")
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    failed = []
    print("| cluster | advised | how sure | its seconds | true best | its seconds | ratio |\n"
          "|---|---|---|---|---|---|---|")
    for cluster in arguments.clusters or ready_clusters():
        advice = advise("--cluster", cluster, "--seeds", arguments.seeds)
        seconds = {}
        for ranked in advice["ranking"]:
            took = true_seconds(cluster, ranked["policy"], arguments.seeds, advice["target_accuracy"])
            if took is not None:
                seconds[ranked["policy"]] = took
        best = min(seconds, key=seconds.get)
        picked = seconds.get(advice["policy"], float("inf"))
        ratio = picked / seconds[best]
        print(f"| `{cluster}` | `{advice['policy']}` | {advice['certainty']} | {picked:.1f} | `{best}` | "
              f"{seconds[best]:.1f} | {ratio:.3f} |", flush=True)
        if ratio > MOST:
            failed.append(cluster)
    if failed:
        print(f"\nmore than {MOST:.2f} times the best: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
