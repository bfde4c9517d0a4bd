#!/usr/bin/env python3
"""Finds tests that nothing runs: a *_test.cc, *_bench.cc or *_fuzz.cc that no CMakeLists.txt names,
a folder of Python tests without one, and tests that are switched off.

    tools/check_tests.py             exits 1 and names each
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OFF = re.compile(r"\b(GTEST_SKIP|DISABLED_\w+)|pytest\.mark\.(skip|xfail)|pytest\.(skip|xfail)")


def problems(root):
    for pattern in ("*_test.cc", "*_bench.cc", "*_fuzz.cc"):
        for path in sorted((root / "paceline").rglob(pattern)):
            listed = path.parent / "CMakeLists.txt"
            if not listed.exists() or path.name not in re.split(r"[\s()]+", listed.read_text()):
                yield f"{path.relative_to(root)}: named by no CMakeLists.txt"
    for path in sorted((root / "tests").rglob("test_*.py")):
        listed = path.parent / "CMakeLists.txt"
        if not listed.exists():
            yield f"{path.relative_to(root)}: its folder has no CMakeLists.txt"
        elif path.name not in listed.read_text() and "paceline_pytest" not in listed.read_text():
            yield f"{path.relative_to(root)}: named by no CMakeLists.txt"
    for folder in ("paceline", "tests"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".cc", ".py"}:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if OFF.search(line):
                    yield f"{path.relative_to(root)}:{number}: a test that is switched off"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    found = list(problems(root))
    print("\n".join(found) if found else "tests: each is run by something")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
