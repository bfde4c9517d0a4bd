"""Reproduction's scripts: their arithmetic by hand, and the quickest of them on tiny sizes."""

import importlib
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAPER = ROOT / "bench" / "paper"
SCRIPTS = ["a3a", "advise", "agreement", "elastic", "table1"]
sys.path.insert(0, str(PAPER))
common = importlib.import_module("common")
agreement = importlib.import_module("agreement")


def run(script, *words):
    return subprocess.run([sys.executable, PAPER / f"{script}.py", *map(str, words)], capture_output=True, text=True)


def test_a_target_is_reached_when_it_is_first_measured():
    evaluations = [{"seconds": 1, "test_accuracy": 0.5}, {"seconds": 2, "test_accuracy": 0.7}, {"seconds": 3, "test_accuracy": 0.6}]
    assert common.seconds_to(evaluations, 0.6) == 2
    assert common.seconds_to(evaluations, 0.7) == 2
    assert common.seconds_to(evaluations, 0.71) == common.NEVER


def test_a_median_of_never_is_never_once_half_did_not_arrive():
    assert common.median([3, 1, 2]) == 2
    assert common.median([1, 2]) == 1.5
    assert common.median([1, common.NEVER, 3]) == 3
    assert common.median([1, common.NEVER]) == common.NEVER
    assert common.median([1, common.NEVER, common.NEVER]) == common.NEVER


def test_never_has_no_ratio_and_is_null_in_json():
    assert common.ratio(3, 2) == 1.5
    assert common.ratio(common.NEVER, 2) is None
    assert common.ratio(3, common.NEVER) is None
    assert common.ratio(3, None) is None
    assert common.finite({"a": [1, common.NEVER]}) == {"a": [1, None]}


def test_a_claim_that_fails_is_the_exit_code(capsys):
    claims = common.Claims()
    claims.at_least("faster", 1.5, 1.5)
    claims.at_most("idle", 0.02, 0.02)
    assert claims.exit_code() == 0
    claims.at_most("time", common.NEVER, 0.72)
    assert claims.exit_code() == 1
    assert capsys.readouterr().out.splitlines()[-1] == "FAILS: time: never <= 0.720"
    assert claims.all[-1] == {"what": "time", "value": None, "bound": 0.72, "holds": False}


def test_cells_and_rows():
    assert common.table(["a", "b"], [["x", 1234.5], [None, 0.126]]) == "| a | b |\n|---|---|\n| x | 1,234 |\n|  | 0.13 |"


def test_a_prediction_is_as_far_off_as_its_furthest_worker():
    rate, wait = agreement.distance((11, [0.1, 0.5]), (10, [0.2, 0.45]))
    assert rate == pytest.approx(0.1)
    assert wait == pytest.approx(0.1)


def test_live_figures_are_medians_of_each_worker():
    runs = [{"steps": [6, 4], "seconds": 2, "wait_share": [0.1, 0.9]}, {"steps": [8, 4], "seconds": 2, "wait_share": [0.3, 0.2]},
            {"steps": [2, 2], "seconds": 2, "wait_share": [0.2, 0.4]}]
    assert agreement.middle(runs) == (5, [0.2, 0.4])


@pytest.mark.parametrize("script", SCRIPTS)
def test_each_says_what_it_is_for(script):
    done = run(script, "--help")
    assert done.returncode == 0, done.stderr
    assert "--quick" in done.stdout and "--json" in done.stdout


def test_the_quickest_runs_and_its_claims_hold(tmp_path):
    figures = tmp_path / "figures.json"
    program = pathlib.Path(os.environ["BUILD_BIN"]) / "paceline"
    done = run("table1", "--quick", "--only", "throughput", "--paceline", program, "--json", figures)
    assert done.returncode == 0, done.stdout + done.stderr
    content = json.loads(figures.read_text())
    assert all(claim["holds"] for claim in content["claims"])
    assert len(content["throughput"]) == 14
