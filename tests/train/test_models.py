"""The catalogue's models against PyTorch's layers, put together here from the papers.

Protects: parameter counts, the order and layout of the flat parameter vector, logits and
gradients on the same weights.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

IMAGES = 4
PROGRAM = Path(os.environ.get("BUILD_BIN", "build/release/bin")) / "train_dump"


def mlp(shape, classes):
    pixels = int(np.prod(shape))
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(pixels, 128), nn.ReLU(),
        nn.Linear(128, 64), nn.ReLU(),
        nn.Linear(64, classes),
    )  # fmt: skip


def softmax(shape, classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(shape)), classes))


def mlp_small(shape, classes):
    pixels = int(np.prod(shape))
    return nn.Sequential(nn.Flatten(), nn.Linear(pixels, 32), nn.ReLU(), nn.Linear(32, classes))


def lenet(shape, classes):
    """LeCun et al. 1998, with ReLU and maxima; 28 x 28 images are padded to the paper's 32."""
    side = ((shape[1] // 2) - 4) // 2
    return nn.Sequential(
        nn.Conv2d(shape[0], 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * side * side, 120), nn.ReLU(),
        nn.Linear(120, 84), nn.ReLU(),
        nn.Linear(84, classes),
    )  # fmt: skip


def cnn(shape, classes):
    side = shape[1] // 4
    return nn.Sequential(
        nn.Conv2d(shape[0], 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * side * side, 64), nn.ReLU(),
        nn.Linear(64, classes),
    )  # fmt: skip


def alexnet_small(shape, classes):
    def block(channels, out):
        return [nn.Conv2d(channels, out, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)]

    return nn.Sequential(
        *block(shape[0], 32), *block(32, 32), *block(32, 64),
        nn.Flatten(),
        nn.Linear(64 * 4 * 4, 64), nn.ReLU(),
        nn.Linear(64, classes),
    )  # fmt: skip


class Block(nn.Module):
    """He et al. 2016, figure 2 left; the shortcut is option A of section 3.3."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        if x.shape != y.shape:
            half = (y.shape[1] - x.shape[1]) // 2
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, half, half))
        return F.relu(x + y)


def resnet(depth):
    def make(shape, classes):
        per_stage = (depth - 2) // 6
        assert depth == 6 * per_stage + 2
        layers = [nn.Conv2d(shape[0], 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
        channels = 16
        for out in (16, 32, 64):
            for i in range(per_stage):
                layers.append(Block(channels, out, 2 if out > 16 and i == 0 else 1))
                channels = out
        layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes)]
        return nn.Sequential(*layers)

    return make


def vgg16(shape, classes):
    """Simonyan and Zisserman 2015, column D of table 1, batch norm behind each convolution."""
    layers, channels = [], shape[0]
    column = [64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512, "M"]
    for entry in column:
        if entry == "M":
            layers.append(nn.MaxPool2d(2))
        else:
            layers += [nn.Conv2d(channels, entry, 3, padding=1, bias=False)]
            layers += [nn.BatchNorm2d(entry), nn.ReLU()]
            channels = entry
    layers += [nn.Flatten(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(512, classes))


MODELS = {
    "softmax": (softmax, (1, 8, 8), 10, 650),
    "mlp_small": (mlp_small, (1, 8, 8), 10, 2410),
    "mlp": (mlp, (1, 28, 28), 10, 109386),
    "lenet": (lenet, (1, 28, 28), 10, 61706),
    "cnn": (cnn, (1, 28, 28), 10, 105866),
    "alexnet_small": (alexnet_small, (3, 32, 32), 10, 145578),
    "resnet20": (resnet(20), (3, 32, 32), 10, 269722),
    "resnet50": (resnet(50), (3, 32, 32), 100, 761652),
    "resnet110": (resnet(110), (3, 32, 32), 100, 1733812),
    "vgg16": (vgg16, (3, 32, 32), 10, 15249354),
}


def scattered(twin):
    """Random weights that keep the signal's size, and biases and norms that are not 0 and 1."""
    generator = torch.Generator().manual_seed(7)
    for parameter in twin.parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        if parameter.dim() > 1:
            parameter.data = noise * (2 / parameter[0].numel()) ** 0.5
        else:
            parameter.data = 0.2 * noise + (1 if is_scale(twin, parameter) else 0)


def is_scale(twin, parameter):
    norms = (m for m in twin.modules() if isinstance(m, nn.BatchNorm2d))
    return any(parameter is norm.weight for norm in norms)


def flat(tensors):
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors]).numpy()


def dump(name, shape, classes, folder):
    arguments = [str(PROGRAM), name, *map(str, shape), str(classes)]
    done = subprocess.run([*arguments, str(folder)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return {
        path.stem: np.fromfile(path, np.float32)
        for path in Path(folder).glob("*.f32")
    }  # fmt: skip


def assert_near(have, want, tolerance):
    """Within the tolerance, measured by the largest value where that is above 1."""
    have = have.reshape(want.shape)
    assert np.abs(have - want).max() <= tolerance * max(1.0, np.abs(want).max())


@pytest.mark.parametrize("name", MODELS)
def test_equals_pytorch(name, tmp_path):
    make, shape, classes, count = MODELS[name]
    torch.manual_seed(3)
    torch.set_num_threads(1)
    twin = make(shape, classes)
    scattered(twin)
    twin.to(memory_format=torch.channels_last)
    images = torch.randn(IMAGES, *shape)
    flat(twin.parameters()).tofile(tmp_path / "parameters.f32")
    images.numpy().tofile(tmp_path / "images.f32")

    result = dump(name, shape, classes, tmp_path)

    sizes = [list(parameter.shape) for parameter in twin.parameters()]
    lines = (tmp_path / "names.txt").read_text().splitlines()
    assert [[int(size) for size in line.split()[1:]] for line in lines] == sizes
    assert sum(np.prod(size) for size in sizes) == count

    images = images.to(memory_format=torch.channels_last)
    for module in twin.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 1.0
    logits = twin.train()(images)
    F.cross_entropy(logits, torch.arange(IMAGES) % classes).backward()
    assert_near(result["training"], logits.detach().numpy(), 1e-5)
    assert_near(result["gradient"], flat(p.grad for p in twin.parameters()), 1e-5)
    with torch.no_grad():
        assert_near(result["evaluation"], twin.eval()(images).numpy(), 1e-5)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__, "-q"]))
