"""Every command: help that begins with an example, one JSON value, the exit codes of the contract."""

import re
import subprocess
from pathlib import Path

import pytest

from conftest import PACELINE

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ["train", "check", "policies", "codes", "models", "datasets", "zipline", "sim",
            "advise", "runs", "show", "replay", "report"]


def test_help_fits_a_screen_and_begins_with_an_example(paceline):
    done = paceline("--help")
    lines = done.out.splitlines()
    assert done.code == 0 and done.err == ""
    assert lines[0].startswith("  paceline ")
    assert len(lines) <= 30 and max(map(len, lines)) <= 100
    listed = re.findall(r"^  ([a-z]+)  ", done.out, re.M)
    assert listed == COMMANDS, "what train starts is not for people"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command(paceline, command):
    done = paceline(command, "--help")
    assert done.code == 0
    first = done.out.splitlines()[0]
    assert first.startswith("  ") and f"paceline {command}" in first
    assert f"Usage: paceline {command}" in done.out


def test_without_words_it_shows_help_and_fails(paceline):
    done = paceline()
    assert done.code == 2 and "Commands:" in done.out


def test_version(paceline):
    assert re.fullmatch(r"paceline \d+\.\d+\.\d+\n", paceline("--version").out)


def test_starts_without_libtorch():
    libraries = subprocess.run(["ldd", PACELINE], capture_output=True, text=True, check=True).stdout
    assert "libtorch" not in libraries and "libc10" not in libraries


def test_policies(paceline):
    entries = paceline("policies", "--json").json
    assert {"bsp", "asp", "ssp", "dssp", "dssp_literal", "elastic_bsp"} <= {e["name"] for e in entries}
    table = paceline("policies").out
    for entry in entries:
        assert list(entry) == ["name", "spec", "example", "doc", "source", "file"]
        assert all(entry.values())
        assert (ROOT / entry["file"]).is_file()
        assert entry["spec"] in table and entry["source"] in table


def test_every_example_of_a_policy_is_one(paceline, tmp_path):
    (tmp_path / "a.toml").write_text("train.samples = 10\n")
    for entry in paceline("policies", "--json").json:
        done = paceline("check", "a.toml", "--sync", entry["example"])
        assert done.code in (0, 3), done.err  # 3: the data set is not installed here
        assert f'policy = "{entry["example"]}"' in done.out


def test_codes(paceline):
    assert paceline("codes", "--json").json == []
    assert "none" in paceline("codes").out


def test_models_and_data_sets(paceline):
    models = {m["name"]: m for m in paceline("models", "--json").json}
    data = {d["name"]: d for d in paceline("datasets", "--json").json}
    assert models["lenet"]["parameters"] == 61706
    assert models["resnet20"]["parameters"] == 269722  # He et al.: 0.27 M
    assert data["fashion_mnist"]["train_samples"] == 60000
    for entry in [*models.values(), *data.values()]:
        assert (ROOT / entry["file"]).is_file() and entry["doc"] and entry["source"]
    assert all(m["data"] in data for m in models.values())
    assert all(name in paceline("models").out for name in models)
    assert all(name in paceline("datasets").out for name in data)


@pytest.mark.parametrize("words, near", [
    (["trian"], "train"), (["polices"], "policies"), (["zip-line"], "zipline"),
    (["models", "--jsno"], "--json"), (["check", "a.toml", "--sycn=bsp"], "--sync"),
])
def test_a_word_misspelt_finds_the_right_one(refused, words, near):
    assert f"did you mean {near}?" in refused(2, *words)["fix"]


@pytest.mark.parametrize("words", [
    ["qwerty"], ["--qwerty"], ["check"], ["zipline"], ["report"], ["models", "extra"],
    ["check", "a.toml", "b.toml"], [""],
])
def test_a_wrong_command_line(refused, words):
    refused(2, *words)


def test_an_option_without_its_value(paceline):
    done = paceline("show", "--dir")
    assert done.code == 2 and done.err.startswith("paceline: --dir: a value is missing; see: ")


def test_an_unknown_variable_of_ours_is_an_error(paceline):
    done = paceline("models", "--json", env={"PACELINE_WORKERS": "4"})
    assert done.code == 2 and done.json["error"]["where"] == "PACELINE_WORKERS"
    assert paceline("models", env={"PACELINE_TORCH": "/opt/libtorch"}).code == 0


def test_what_cannot_be_printed_is_not_done():
    with open("/dev/full", "w") as full:
        done = subprocess.run([PACELINE, "models"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 5 and "standard output" in done.stderr
