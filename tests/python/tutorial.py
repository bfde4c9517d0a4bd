#!/usr/bin/env python3
"""Runs docs/tutorial/write-a-policy.md: each block is done as the page says, in an empty folder.

    tests/python/tutorial.py --rewrite      writes what the program says today into the page

A ```python or ```cpp block is the file that the line before it names; a ```diff changes the files before it; in
a ```console block stand commands and what they print.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD_DIR", ROOT / "build/release"))
PAGE = ROOT / "docs/tutorial/write-a-policy.md"
EXAMPLE = ROOT / "examples/policies"

FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def shell(command, folder):
    """What it prints."""
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True,
                         capture_output=True, check=False)
    assert run.returncode == 0, f"{command}\n{run.stdout}{run.stderr}"
    return run.stdout


def apply(diff, folder):
    subprocess.run(["git", "apply", "-"], cwd=folder, input=diff, text=True, check=True,
                   env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)})


def of_the_tree(diff):
    return "a/paceline/" in diff


def console(block, folder):
    """Its commands with what they print today."""
    text = ""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command = part.partition("\n")[0]
        run = command.replace("python ", f"{sys.executable} ", 1)
        run = re.sub(r"^own/", f"{BUILD}/bin/", run)
        text += f"$ {command}\n{shell(run, folder)}"
    return text


def page_of_today(text, folder):
    """The page as it should be."""

    def block(found):
        language, content = found.groups()
        before = text[:found.start()].rstrip().rpartition("\n")[2]
        name = re.search(r"`(\w+\.(?:py|h|cc))`", before)
        if language == "python":
            (folder / name.group(1)).write_text(content)
        elif language == "diff" and not of_the_tree(content):
            apply(content, folder)
        elif language == "console":
            content = console(content, folder)
        elif language == "cpp":
            content = (EXAMPLE / name.group(1)).read_text()
        return f"```{language}\n{content}```"

    return FENCED.sub(block, text)


def blocks(text, language):
    return [content for found, content in FENCED.findall(text) if found == language]


if __name__ == "__main__":
    if sys.argv[1:] != ["--rewrite"]:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as made:
        PAGE.write_text(page_of_today(PAGE.read_text(), pathlib.Path(made)))
