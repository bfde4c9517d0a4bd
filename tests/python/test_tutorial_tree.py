"""The last part of the tutorial: the policy in the tree, with a name and its conversation."""

import os
import re
import shutil
import subprocess

import tutorial

COPIED = ["CMakeLists.txt", "CMakePresets.json", "bench", "cmake", "examples", "paceline", "tests/transcripts"]


def copy_tree(folder):
    for name in COPIED:
        source, target = tutorial.ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
    (folder / "tests/CMakeLists.txt").write_text("# None of these here.\n")


def test_the_policy_in_the_tree(tmp_path):
    text = tutorial.PAGE.read_text().split("## Into the tree")[1]
    copy, build = tutorial.blocks(text, "sh")
    (diff,) = tutorial.blocks(text, "diff")
    copy_tree(tmp_path)
    tutorial.shell(copy, tmp_path)
    tutorial.apply(diff, tmp_path)
    tutorial.shell("cmake --preset release -DPACELINE_TORCH=OFF -DPACELINE_PYTHON=OFF", tmp_path)
    for command in build.splitlines():
        output = tutorial.shell(command, tmp_path)

    assert re.search(r"\bbackup:1\b", output), "the comparison has it"
    transcript = (tmp_path / "tests/transcripts/backup_basic.txt").read_text()
    written = tutorial.EXAMPLE / "backup_basic.txt"
    if "TUTORIAL_REWRITE" in os.environ:
        written.write_text(transcript)
    assert transcript == written.read_text(), "the conversation of the example is another one"
