#!/usr/bin/env python3
"""Plants bugs in paceline/optim, one at a time, and says which of them the unit tests find.

    tests/planted/optim.py [NAME ...]     all, or those named

Works on a copy in a temporary folder; the tree is not touched. Exit code 1 if a bug was missed, or
could no longer be planted because the source has changed.
"""

import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILE = ["g++", "-std=c++20", "-O1", "-fno-math-errno", "-ffp-contract=off", "-I."]
BASE = ["check", "random", "text"]
RULES = ["adam", "mean", "optimizer", "schedule", "sgd"]

# name: (file, what is there, what is planted). The text must be there exactly once.
BUGS = {
    # sgd.cc
    "sgd_plain_without_decay": ("sgd", "w[i] -= f.lr * d;", "w[i] -= f.lr * gradient[i];"),
    "sgd_plain_uphill": ("sgd", "w[i] -= f.lr * d;", "w[i] += f.lr * d;"),
    "sgd_momentum_with_dampening": (
        "sgd", "velocity[i] = v;\n    w[i] -= f.lr * v;",
        "velocity[i] = v - f.momentum * d;\n    w[i] -= f.lr * (v - f.momentum * d);"),
    "sgd_velocity_not_kept": (
        "sgd", "velocity[i] = v;\n    w[i] -= f.lr * v;", "w[i] -= f.lr * v;"),
    "sgd_velocity_holds_the_rate": (
        "sgd", "velocity[i] = v;\n    w[i] -= f.lr * v;",
        "velocity[i] = f.lr * v;\n    w[i] -= f.lr * v;"),
    "sgd_nesterov_is_plain_momentum": (
        "sgd", "w[i] -= f.lr * (d + f.momentum * v);", "w[i] -= f.lr * v;"),
    "sgd_nesterov_without_decay": (
        "sgd", "(d + f.momentum * v)", "(gradient[i] + f.momentum * v)"),
    "sgd_nesterov_taken_from_the_old_velocity": (
        "sgd", "velocity[i] = v;\n    w[i] -= f.lr * (d + f.momentum * v);",
        "w[i] -= f.lr * (d + f.momentum * velocity[i]);\n    velocity[i] = v;"),
    "sgd_nesterov_ignored": ("sgd", "} else if (nesterov_) {", "} else if (false) {"),
    "sgd_momentum_ignored": ("sgd", "velocity_(config.momentum > 0 ? size : 0)", "velocity_(0)"),
    "sgd_state_hidden": ("sgd", "return {velocity_};", "return {};"),
    "sgd_sizes_unchecked": (
        "sgd", 'PACELINE_CHECK(gradient.size() == size_, "the gradient has the shard\'s size");',
        ""),
    # adam.cc
    "adam_decay_left_out": ("adam", "gradient[i] + f.l2 * w[i]", "gradient[i]"),
    "adam_decay_always_decoupled": (
        "adam", ".l2 = decoupled_ ? 0.0F", ".l2 = true ? 0.0F"),
    "adamw_decay_without_the_rate": (
        "adam", "static_cast<float>(1 - lr * weight_decay_)",
        "static_cast<float>(1 - weight_decay_)"),
    "adamw_shrinks_after_the_step": (
        "adam",
        "w[i] = w[i] * f.shrink - f.step_size * (m / (std::sqrt(v) * f.root_factor + f.eps));",
        "w[i] = (w[i] - f.step_size * (m / (std::sqrt(v) * f.root_factor + f.eps))) * f.shrink;"),
    "adam_betas_swapped": (
        "adam", ".beta2 = static_cast<float>(beta2_)", ".beta2 = static_cast<float>(beta1_)"),
    "adam_mean_without_its_weight": (
        "adam", "f.one_minus_beta1 * g;", "g;"),
    "adam_square_forgotten": ("adam", "(g * g)", "g"),
    "adam_eps_inside_the_root": (
        "adam", "std::sqrt(v) * f.root_factor + f.eps", "std::sqrt(v + f.eps) * f.root_factor"),
    "adam_eps_before_the_correction": (
        "adam", "(std::sqrt(v) * f.root_factor + f.eps)",
        "((std::sqrt(v) + f.eps) * f.root_factor)"),
    "adam_mean_uncorrected": (
        "adam", "static_cast<float>(lr / (1 - std::pow(beta1_, t)))", "lr"),
    "adam_square_uncorrected": (
        "adam", "static_cast<float>(1 / std::sqrt(1 - std::pow(beta2_, t)))", "1.0F"),
    "adam_corrections_in_float": (
        "adam", "std::pow(beta2_, t)",
        "static_cast<double>(std::pow(static_cast<float>(beta2_), static_cast<float>(t)))"),
    "adam_counts_from_two": (
        "adam", "const double t = steps_[0];", "const double t = steps_[0] + 1;"),
    "adam_steps_not_counted": ("adam", "steps_[0] += 1;", "steps_[0] = 1;"),
    "adam_mean_not_kept": ("adam", "    mean[i] = m;\n", ""),
    "adam_state_without_its_steps": (
        "adam", "return {mean_, mean_square_, steps_};", "return {mean_, mean_square_};"),
    "adam_state_without_its_square": (
        "adam", "return {mean_, mean_square_, steps_};", "return {mean_, mean_, steps_};"),
    # mean.cc
    "mean_added_backwards": (
        "mean", "gradients[j].data() + begin", "gradients[gradients.size() - j].data() + begin"),
    "mean_first_left_out": (
        "mean", "sum[i] = gradients[0].data()[begin + i];", "sum[i] = 0;"),
    "mean_last_left_out": ("mean", "j < gradients.size(); ++j", "j + 1 < gradients.size(); ++j"),
    "mean_not_divided": ("mean", "sum[i] / count", "sum[i]"),
    "mean_times_the_inverse": ("mean", "sum[i] / count", "sum[i] * (1 / count)"),
    "mean_divided_one_by_one": (
        "mean", "sum[i] += gradient[i];",
        "sum[i] = (sum[i] * float(j) + gradient[i]) / float(j + 1);"),
    "mean_tail_left_out": (
        "mean", "mean_of_block(out, gradients, begin, size - begin);", ""),
    "mean_tail_too_short": (
        "mean", "mean_of_block(out, gradients, begin, size - begin);",
        "mean_of_block(out, gradients, begin, size - begin - (size > begin ? 1 : 0));"),
    "mean_block_too_far": (
        "mean", "begin + kBlockFloats <= size", "begin < size"),
    "mean_added_to_what_was_there": (
        "mean", "out[begin + i] = sum[i] / count", "out[begin + i] += sum[i] / count"),
    "mean_sizes_unchecked": ("mean", "gradient.size() == out.size()", "true"),
    # optimizer.cc
    "momentum_of_one_allowed": (
        "optimizer", "static_cast<float>(value) < 1", "static_cast<float>(value) <= 1"),
    "momentum_range_checked_in_double": (
        "optimizer", "static_cast<float>(value) < 1", "value < 1"),
    "negative_decay_allowed": (
        "optimizer", "!(config.weight_decay >= 0)", "config.weight_decay == -2"),
    "nan_decay_allowed": (
        "optimizer",
        "!(config.weight_decay >= 0) || "
        "!std::isfinite(static_cast<float>(config.weight_decay))",
        "config.weight_decay < 0"),
    "nesterov_without_momentum_allowed": (
        "optimizer", "config.nesterov && config.momentum == 0", "false"),
    "eps_of_zero_allowed": ("optimizer", "!(eps > 0)", "!(eps >= 0)"),
    "adam_takes_momentum_silently": (
        "optimizer", "if (config.momentum != 0) return", "if (false) return"),
    "sgd_takes_betas_silently": (
        "optimizer", "if (config.beta1 != unset.beta1) return", "if (false) return"),
    "beta2_unchecked": (
        "optimizer", "if (!is_decay(config.beta2))", "if (!is_decay(config.beta1))"),
    "error_names_no_key": ("optimizer", 'cat("optimizer.", key)', '"optimizer"'),
    # schedule.cc
    "cosine_ends_in_the_middle": (
        "schedule", "(1 + std::cos(std::numbers::pi * progress)) / 2",
        "(1 + std::cos(std::numbers::pi / 2 * progress)) / 2"),
    "cosine_ignores_the_warmup": (
        "schedule", "(share - schedule.warmup) / (1 - schedule.warmup)", "share"),
    "cosine_rises_in_the_warmup": (
        "schedule", "std::max(0.0, (share - schedule.warmup) / (1 - schedule.warmup))",
        "(share - schedule.warmup) / (1 - schedule.warmup)"),
    "step_one_late": ("schedule", "if (share >= at)", "if (share > at)"),
    "step_falls_once": ("schedule", "left *= schedule.factor", "left = schedule.factor"),
    "warmup_from_nothing": ("schedule", "kWarmupFrom = 0.1", "kWarmupFrom = 0.0"),
    "warmup_goes_too_far": ("schedule", "(1 - kWarmupFrom) * share", "share"),
    "share_not_clamped": (
        "schedule", "std::clamp(share_applied, 0.0, 1.0)", "share_applied"),
    "step_shares_may_fall": ("schedule", "at > last && at < 1", "at > 0 && at < 1"),
    "scale_without_workers": (
        "schedule", "lr * pushes_in_update / live_workers", "lr * pushes_in_update"),
    "scale_in_integers": (
        "schedule", "lr * pushes_in_update / live_workers",
        "lr * (pushes_in_update / live_workers)"),
    "scale_of_updates_ignored": ("schedule", "scale == LrScale::PerUpdate || ", ""),
    "scale_divides_by_nobody": ("schedule", " || live_workers == 0", ""),
}


def run(command, folder, **more):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, **more)


def compile_one(folder, source, target):
    done = run(COMPILE + ["-c", source, "-o", target], folder)
    if done.returncode != 0:
        raise SystemExit(f"{source} does not compile:\n{done.stderr}")


def prepare(folder):
    """The copy, all of it compiled as it is: {name: object}."""
    for part in ("base", "optim"):
        shutil.copytree(ROOT / "paceline" / part, folder / "paceline" / part)
    sources = {f"base_{name}": f"paceline/base/{name}.cc" for name in BASE}
    sources |= {name: f"paceline/optim/{name}.cc" for name in RULES}
    sources |= {f"{name}_test": f"paceline/optim/{name}_test.cc" for name in RULES}
    objects = {name: f"{name}.o" for name in sources}
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: compile_one(folder, sources[name], objects[name]), sources))
    return objects


def tests_fail(folder, objects, program):
    linked = run(["g++", *objects.values(), "-o", program, "-lgmock_main", "-lgmock", "-lgtest",
                  "-lpthread"], folder)
    if linked.returncode != 0:
        raise SystemExit(f"{program} does not link:\n{linked.stderr}")
    done = run([f"./{program}", "--gtest_brief=1"], folder, timeout=120)
    return done.returncode != 0


def plant(folder, objects, bug):
    """True if the tests find it, False if not, None if it cannot be planted."""
    unit, there, planted = BUGS[bug]
    text = (folder / f"paceline/optim/{unit}.cc").read_text()
    if text.count(there) != 1:
        return None
    source = f"paceline/optim/{bug}.planted.cc"
    (folder / source).write_text(text.replace(there, planted))
    compile_one(folder, source, f"{bug}.o")
    return tests_fail(folder, objects | {unit: f"{bug}.o"}, f"{bug}.program")


def main():
    bugs = sys.argv[1:] or list(BUGS)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        folder = Path(name)
        objects = prepare(folder)
        if tests_fail(folder, objects, "unplanted.program"):
            raise SystemExit("the tests fail with no bug planted")
        found = dict(zip(bugs, pool.map(lambda bug: plant(folder, objects, bug), bugs)))
    for bug, result in found.items():
        print(f"{ {True: 'found', False: 'MISSED', None: 'NOT PLANTED'}[result]:12}{bug}")
    print(f"{sum(result is True for result in found.values())} of {len(found)} found")
    return 0 if all(found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
