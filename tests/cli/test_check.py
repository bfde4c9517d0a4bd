"""check: what a configuration says, completed; and each way it can be wrong."""

import re
import tomllib
from pathlib import Path

import pytest

FASHION = Path("/usr/share/datasets/fashion-mnist")
CONFIG = """[train]
samples = 150000
target_accuracy = 0.88
[optimizer]
lr = 0.4
schedule = { name = "cosine" }
[cluster]
step_floor_ms = [60, 60, 60, 180]
"""


@pytest.fixture
def config(tmp_path):
    def write(text):
        (tmp_path / "demo.toml").write_text(text)
        return "demo.toml"
    return write


def test_prints_a_configuration_that_says_the_same_again(paceline, config, tmp_path):
    done = paceline("check", config(CONFIG))
    assert done.code == 0, done.err
    completed = tomllib.loads(done.out)
    assert completed["train"]["samples"] == 150000
    assert completed["cluster"]["workers"] == 4
    assert completed["data"]["path"] == str(FASHION)
    for word in ("4 workers", "2 servers", "4688 pushes", "105866 parameters", "elastic_bsp"):
        assert word in done.out
    assert paceline("check", config(done.out)).out == done.out


def test_json_has_the_plan(paceline, config):
    plan = paceline("check", config(CONFIG), "--set", "train.epochs=0.5", "--sync", "ssp:3",
                    "--json").json
    assert plan["samples"] == 30000 and plan["epochs"] == 0.5 and plan["pushes"] == 938
    assert plan["config"]["sync"]["policy"] == "ssp:3"
    assert plan["config"]["train"]["epochs"] is None
    assert tomllib.loads(plan["toml"])["sync"] == plan["config"]["sync"]
    assert plan["processes"] == {"coordinator": 1, "servers": 2, "workers": 4, "evaluator": 1}
    assert plan["policy"]["file"] == "paceline/sync/ssp.cc"


@pytest.mark.parametrize("line, where, what", [
    ("[trian]\nlr = 1", "demo.toml:9", "[trian]"),
    ("wrokers = 4", "demo.toml:9", "cluster.wrokers"),
    ("workers = 0", "demo.toml:9", "cluster.workers = 0"),
    ("workers = 3", "demo.toml:8", "4 numbers for 3 workers"),
    ("workers = 4\nservers = 2.5", "demo.toml:10", "cluster.servers"),
    ("tls = 1", "demo.toml:9", "cluster.tls"),
    ("transport = \"udp\"", "demo.toml:9", "udp"),
    ("[sync]\npolicy = \"eslatic_bsp\"", "demo.toml:10", "eslatic_bsp"),
    ("[sync]\npolicy = \"dssp:5-3\"", "demo.toml:10", "dssp:5-3"),
    ("[code]\nscheme = \"frc:s=1\"", "demo.toml:10", "not there yet"),
    ("[model]\nname = \"cnnn\"", "demo.toml:10", "cnnn"),
    ("[data]\nname = \"fashion\"", "demo.toml:10", "fashion"),
    ("[data]\nname = \"cifar10\"\n", "demo.toml", "cifar10"),
    ("[model]\nname = \"vgg16\"", "demo.toml:10", "vgg16"),  # made for larger images
    ("[run]\nseed = -1", "demo.toml:10", "run.seed"),
    ("[run", "demo.toml:9", "TOML"),
    ("workers = 4\nworkers = 4", "demo.toml:10", "TOML"),
])
def test_what_is_wrong_is_named_with_its_line(refused, config, line, where, what):
    error = refused(2, "check", config(CONFIG + line + "\n"))
    assert what in error["what"]
    assert error["where"] == where


@pytest.mark.parametrize("words, where", [
    (["--sync", "sspp:3"], "--sync"), (["--code", "frc:s=1"], "--code"),
    (["--set", "cluster.workers=0"], "--set cluster.workers"), (["--set", "x"], "--set"),
    (["--set", "model.name=x"], "--set model.name"), (["--sync", ""], "--sync"),
])
def test_what_is_wrong_in_an_option_is_named_with_it(refused, config, words, where):
    assert refused(2, "check", config(CONFIG), *words)["where"] == where


def test_files_that_are_no_configuration(refused, tmp_path):
    assert refused(2, "check", "none.toml")["where"] == "none.toml"
    assert "folder" in refused(2, "check", tmp_path)["what"]
    (tmp_path / "binary.toml").write_bytes(bytes(range(256)))
    refused(2, "check", "binary.toml")
    (tmp_path / "empty.toml").write_text("")
    assert "budget" in refused(2, "check", "empty.toml")["what"]


def test_a_data_file_that_is_missing_or_cut_short(refused, config, tmp_path):
    folder = tmp_path / "data"
    words = ["check", config(CONFIG), "--set", f"data.path={folder}"]
    assert str(folder) in refused(3, *words)["what"]
    folder.mkdir()
    assert "images" in refused(3, *words)["what"]
    for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                 "t10k-labels-idx1-ubyte"):
        (folder / name).write_bytes(b"\0\0\10\3")
    refused(3, *words)


def test_the_table_of_keys_is_the_same_in_both_forms(paceline):
    keys = paceline("check", "--keys", "--json").json
    table = paceline("check", "--keys").out
    assert [k["key"] for k in keys] == re.findall(r"^\| `([a-z_.0-9]+)` \|", table, re.M)
    assert {k["key"] for k in keys} >= {"run.seed", "optimizer.schedule.name", "cluster.workers"}
