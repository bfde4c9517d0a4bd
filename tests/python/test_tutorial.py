"""The tutorial's page is what the program says, block by block."""

import os
import subprocess

import tutorial


def test_every_block_of_the_page_does_what_it_says(tmp_path):
    text = tutorial.PAGE.read_text()
    assert len(tutorial.blocks(text, "console")) == 5
    assert tutorial.page_of_today(text, tmp_path) == text, \
        "run tests/python/tutorial.py --rewrite and read the diff"


def test_both_languages_decide_the_same():
    """The page shows the digest of both; they are one."""
    digests = [line for block in tutorial.blocks(tutorial.PAGE.read_text(), "console")
               for line in block.splitlines() if line.startswith("decisions of backup:1:")]
    assert len(digests) == 2 and len(set(digests)) == 1


def test_the_program_of_the_page_ends_well():
    program = os.path.join(os.environ["BUILD_BIN"], "try_backup")
    subprocess.run([program], check=True, capture_output=True)
