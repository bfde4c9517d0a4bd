#!/usr/bin/env python3
"""Keeps the layers: who may include whom (the table of ARCHITECTURE.md, as a dict).

    tools/check_layers.py            exits 1 and names each line that breaks a rule
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

PURE = {"base", "sync", "optim", "membership", "wire"}
MAY_INCLUDE = {
    "base": set(),
    "sync": {"base"},
    "optim": {"base"},
    "membership": {"base"},
    "wire": {"base"},
    "roles": PURE,
    "sim": PURE | {"roles"},
    "net": {"base", "wire"},
    "node": PURE | {"roles", "net"},
    "train": PURE | {"roles", "net", "node"},
    "cli": PURE | {"roles", "net", "node", "sim", "train"},
}
TORCH = re.compile(r'#include\s*[<"](torch|ATen|c10)/')
OURS = re.compile(r'#include\s*"paceline/([a-z_]+)/')
# LibTorch's wheel carries its own fmt and protobuf: a file that sees it sees neither of Debian's.
FORBIDDEN_IN_TRAIN = re.compile(r'#include\s*[<"](fmt|spdlog|google/protobuf)/')


def problems(root):
    for path in sorted((root / "paceline").rglob("*")):
        if path.suffix not in {".h", ".cc"}:
            continue
        folder = path.relative_to(root / "paceline").parts[0]
        name = path.relative_to(root)
        if folder not in MAY_INCLUDE:
            yield f"{name}: folder {folder} is not in the table"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if ours := OURS.match(line):
                other = ours.group(1)
                if other != folder and other not in MAY_INCLUDE[folder]:
                    yield f"{name}:{number}: {folder} may not include {other}"
            if TORCH.match(line) and folder != "train":
                yield f"{name}:{number}: LibTorch is seen by train/ alone"
            if folder == "train" and FORBIDDEN_IN_TRAIN.match(line):
                yield f"{name}:{number}: train/ may not see Debian's fmt or protobuf"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    found = list(problems(root))
    print("\n".join(found) if found else "layers: kept")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
