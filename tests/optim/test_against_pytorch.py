"""The update rules give what torch.optim gives, step by step, over 300 steps.

Both get the same parameters, gradients and rates. Compared after each step; the error is relative
to the largest parameter, because a parameter that passes zero has no relative error of its own.
The tolerance covers the order of float operations, nothing more: the largest error measured
with torch 2.13 was 8e-7.
"""

import math
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

SIZE = 1003  # no multiple of any vector's width
STEPS = 300
PROGRAM = Path(os.environ.get("BUILD_BIN", "build/release/bin")) / "optim_reference"
TOLERANCE = 2e-6

# As the configuration says it: keys that are left out have their default.
COMBINATIONS = {
    "sgd": dict(name="sgd"),
    "sgd_decay": dict(name="sgd", weight_decay=0.05),
    "momentum": dict(name="sgd", momentum=0.9),
    "momentum_decay": dict(name="sgd", momentum=0.9, weight_decay=5e-4),
    "momentum_strong_decay": dict(name="sgd", momentum=0.5, weight_decay=0.1),
    "nesterov": dict(name="sgd", momentum=0.9, nesterov=True),
    "nesterov_decay": dict(name="sgd", momentum=0.95, nesterov=True, weight_decay=0.01),
    "adam": dict(name="adam"),
    "adam_decay": dict(name="adam", weight_decay=0.05),
    "adam_betas": dict(name="adam", beta1=0.5, beta2=0.9, eps=1e-3),
    "adam_no_mean": dict(name="adam", beta1=0.0, beta2=0.99),
    "adam_long": dict(name="adam", beta1=0.99, beta2=0.99999),
    "adamw": dict(name="adamw", weight_decay=0.01),
    "adamw_no_decay": dict(name="adamw"),
    "adamw_strong_decay": dict(name="adamw", weight_decay=0.5, beta1=0.8, beta2=0.95, eps=1e-6),
}


def constant(step):
    return 0.05


def changing(step):
    """A warm-up, a cosine and a fall by ten, all within the run."""
    warm = min(1.0, 0.1 + step / 30)
    return 0.1 * warm * (1.01 + math.cos(math.pi * step / STEPS)) * (0.1 if step >= 200 else 1.0)


def paceline(folder, config, parameters, rates, gradients):
    head = (
        f"{config['name']} {config.get('momentum', 0)} {int(config.get('nesterov', False))} "
        f"{config.get('weight_decay', 0)} {config.get('beta1', 0.9)} {config.get('beta2', 0.999)} "
        f"{config.get('eps', 1e-8)} {SIZE} {STEPS}\n"
    )
    given, answer = folder / "given", folder / "answer"
    given.write_bytes(head.encode() + parameters.tobytes() + rates.tobytes() + gradients.tobytes())
    subprocess.run([PROGRAM, given, answer], check=True)
    return np.fromfile(answer, dtype=np.float32).reshape(STEPS, SIZE)


def pytorch(config, parameters, rates, gradients):
    weights = torch.nn.Parameter(torch.from_numpy(parameters.copy()))
    decay = config.get("weight_decay", 0)
    if config["name"] == "sgd":
        rule = torch.optim.SGD(
            [weights],
            lr=1.0,
            momentum=config.get("momentum", 0),
            nesterov=config.get("nesterov", False),
            weight_decay=decay,
        )
    else:
        rule = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[config["name"]](
            [weights],
            lr=1.0,
            betas=(config.get("beta1", 0.9), config.get("beta2", 0.999)),
            eps=config.get("eps", 1e-8),
            weight_decay=decay,
        )
    trajectory = np.empty_like(gradients)
    for step in range(STEPS):
        rule.param_groups[0]["lr"] = float(rates[step])
        weights.grad = torch.from_numpy(gradients[step].copy())
        rule.step()
        trajectory[step] = weights.detach().numpy()
    return trajectory


@pytest.mark.parametrize("rate", [constant, changing])
@pytest.mark.parametrize("name", COMBINATIONS)
def test_gives_the_parameters_of_pytorch(name, rate, tmp_path):
    config = COMBINATIONS[name]
    random = np.random.default_rng(1)
    parameters = random.normal(size=SIZE).astype(np.float32)
    # Each coordinate with its own size and drift, as in a network.
    sizes = 10.0 ** random.uniform(-4, 1, size=SIZE)
    gradients = (sizes * (random.normal(size=(STEPS, SIZE)) + 0.3)).astype(np.float32)
    rates = np.array([rate(step) for step in range(STEPS)], dtype=np.float32)

    ours = paceline(tmp_path, config, parameters, rates, gradients)
    theirs = pytorch(config, parameters, rates, gradients)

    assert np.isfinite(theirs).all() and np.abs(theirs[-1] - parameters).max() > 0.01
    error = np.abs(ours - theirs).max(axis=1) / np.abs(theirs).max(axis=1)
    print(f"{name} {rate.__name__}: largest error {error.max():.1e}")
    assert error.max() <= TOLERANCE, f"step {int(error.argmax())}"
