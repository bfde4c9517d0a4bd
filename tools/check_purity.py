#!/usr/bin/env python3
"""Asks the linker whether the pure folders are pure: no clock, thread, socket, file, environment.

    tools/check_purity.py build/release
"""

import pathlib
import re
import subprocess
import sys

PURE = ["base", "sync", "optim", "membership", "wire", "roles", "sim"]
# Undefined symbols that a pure archive must not ask for.
IMPURE = re.compile(
    r"steady_clock::now|system_clock::now|high_resolution_clock::now|std::random_device"
    r"|std::thread|std::jthread|std::condition_variable|this_thread"
    r"|basic_(i|o|)f(stream|ilebuf)<|std::filesystem"
    r"|^(getenv|secure_getenv|setenv|socket|connect|bind|listen|accept|open|open64|fopen|fopen64"
    r"|read|write|recv|send|time|gettimeofday|clock_gettime|clock|rand|random|srand|getrandom"
    r"|pthread_create|fork|execve|nanosleep|usleep|sleep|pthread_mutex_lock)(@.*)?$"
)


def undefined(archive):
    output = subprocess.run(
        ["nm", "--undefined-only", "--demangle", str(archive)],
        capture_output=True, text=True, check=True,
    ).stdout
    member = ""
    for line in output.splitlines():
        if line.endswith(":"):
            member = line[:-1]
        elif line.strip().startswith("U "):
            yield member, line.strip()[2:]


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release")
    found = []
    seen = 0
    for folder in PURE:
        archive = build / "paceline" / folder / f"libpaceline_{folder}.a"
        if not archive.exists():
            continue
        for member, symbol in undefined(archive):
            seen += 1
            if IMPURE.search(symbol):
                found.append(f"paceline/{folder}: {member} asks for {symbol}")
    if seen == 0:
        print(f"purity: no archive below {build}; build it first", file=sys.stderr)
        return 2
    print("\n".join(found) if found else f"purity: kept ({seen} symbols)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
