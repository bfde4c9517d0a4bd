"""What the scripts of this folder share: running the simulator, tables of published beside measured."""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACELINE = ROOT / "build" / "release" / "bin" / "paceline"
DEMO = ROOT / "examples" / "demo.toml"
NEVER = math.inf


def parser(doc, seeds):
    result = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("--quick", action="store_true", help="small sizes, one seed: does it run at all?")
    result.add_argument("--json", metavar="FILE", help="the figures, as one JSON value")
    result.add_argument("--seeds", type=int, default=seeds, help=f"{seeds}")
    result.add_argument("--jobs", type=int, default=0, help="threads; as many as processors")
    result.add_argument("--paceline", default=PACELINE, metavar="PROGRAM", help="build/release/bin/paceline")
    return result


def uneven(steps, jitter=0.0):
    """A cluster file's content: a worker each of these mean step times, in seconds."""
    return {"name": "paper", "workers": [{"step": step, "jitter": jitter} for step in steps]}


def command_of(args, policies, cluster, seed, seeds, seconds=None, steps=None, settings=None):
    """settings: keys of the configuration that are trained with; None: nothing is trained."""
    command = [args.paceline, "sim", "--compare", ",".join(policies), "--cluster", cluster]
    command += ["--seed", seed, "--seeds", seeds, "--no-report", "--json"]
    for option, value in (("--seconds", seconds), ("--steps", steps), ("--jobs", args.jobs or None)):
        if value is not None:
            command += [option, value]
    if settings is not None:
        command += ["--train", DEMO]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
    return [str(part) for part in command]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr or done.stdout}")
    return json.loads(done.stdout)


def sim(args, policies, cluster, seed=1, seeds=None, **options):
    """By policy, as given: what `paceline sim --json` says of it. cluster: a name, or a file's content."""
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(cluster, dict):
            path = pathlib.Path(folder) / "cluster.json"
            path.write_text(json.dumps(cluster))
            cluster = path
        answer = run(command_of(args, policies, cluster, seed, seeds or args.seeds, **options))
    return dict(zip(policies, answer["policies"]))


def seconds_to(evaluations, target):
    """The first at which the target was measured; NEVER if it was not."""
    reached = (e["seconds"] for e in evaluations if e["test_accuracy"] >= target)
    return next(reached, NEVER)


def times_to(policy, target):
    return [seconds_to(run["evaluations"], target) for run in policy["by_seed"]]


def median(values):
    """NEVER counts as the longest, so a median is one that at least half of them kept."""
    middle = statistics.median_high(values) if NEVER in values else statistics.median(values)
    return middle


def ratio(measured, published):
    if not published or measured is None or NEVER in (measured, published):
        return None
    return measured / published


def text(value, digits=2):
    if value is None:
        return ""
    if value == NEVER:
        return "never"
    if isinstance(value, str):
        return value
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{digits}f}"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(text(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def compared(rows, tolerance):
    """rows: (what, published, measured). With the ratio, and whether it is within the tolerance."""
    result = []
    for what, published, measured in rows:
        quotient = ratio(measured, published)
        holds = quotient is not None and abs(quotient - 1) <= tolerance
        result.append((what, published, measured, quotient, "yes" if holds else "NO"))
    return result


class Claims:
    """What has to hold. Prints each; the script's exit code is 1 if one does not."""

    def __init__(self):
        self.all = []

    def at_least(self, what, value, bound):
        self._add(what, value, ">=", bound, value >= bound)

    def at_most(self, what, value, bound):
        self._add(what, value, "<=", bound, value <= bound)

    def _add(self, what, value, relation, bound, holds):
        self.all.append({"what": what, "value": None if value == NEVER else value, "bound": bound, "holds": bool(holds)})
        print(f"{'holds' if holds else 'FAILS'}: {what}: {text(value, 3)} {relation} {text(bound, 3)}", flush=True)

    def exit_code(self):
        return 0 if all(claim["holds"] for claim in self.all) else 1


def finite(value):
    """JSON has no infinity: NEVER is null."""
    if isinstance(value, dict):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(entry) for entry in value]
    return None if value == NEVER else value


def finish(args, figures, claims):
    if args.json:
        content = {"claims": claims.all, **figures}
        pathlib.Path(args.json).write_text(json.dumps(finite(content), indent=1) + "\n")
    return claims.exit_code()


# ---- what is trained: Fashion-MNIST, or the papers' own data where their files are ----

TASKS = {  # model, target accuracy where none is given
    "fashion_mnist": ("mlp", 0.86),
    "cifar10": ("alexnet_small", 0.62),
    "cifar100": ("resnet110", 0.67),
}


def add_task(result, samples):
    result.add_argument("--data", metavar="DIR", help="the files of --dataset, where they are not in their package's place")
    result.add_argument("--dataset", choices=TASKS, default="fashion_mnist")
    result.add_argument("--model", help="mlp, alexnet_small or resnet110, by the data set")
    result.add_argument("--target", type=float, help="accuracy; .86, .62 or .67, by the data set")
    result.add_argument("--samples", type=int, default=samples, help=f"{samples}")
    result.add_argument("--lr", type=float, default=0.4, help="0.4")
    result.add_argument("--momentum", type=float, default=0.0, help="0")


def task_of(args):
    """The settings to train with."""
    model, target = TASKS[args.dataset]
    settings = {
        "data.name": args.dataset, "model.name": args.model or model,
        "train.target_accuracy": args.target or target, "train.samples": args.samples,
        "optimizer.lr": args.lr, "optimizer.momentum": args.momentum,
    }
    if args.data:
        settings["data.path"] = args.data
    if args.quick:
        settings |= {"model.name": "softmax", "train.samples": 6000, "train.target_accuracy": 0.7,
                     "train.eval_every_samples": 1000}
    return settings
