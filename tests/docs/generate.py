#!/usr/bin/env python3
"""Writes what the docs take from the program: tables of policies and of the configuration's keys.

    tests/docs/generate.py           with build/release/bin/paceline
    BUILD_BIN=DIR tests/docs/generate.py
"""

import paceline_docs as docs

for page in docs.GENERATED:
    path = docs.ROOT / page
    text = docs.regenerated(page)
    changed = text != path.read_text()
    path.write_text(text)
    print(f"{page}: {'rewritten' if changed else 'up to date'}")
