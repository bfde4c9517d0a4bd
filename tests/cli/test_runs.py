"""runs, show, report on folders as a run leaves them, or as a killed one does."""

import json

import pytest

SUMMARY = {
    "run": "?", "exit": "ok", "exit_code": 0, "error": None, "policy": "bsp", "code": "none",
    "model": "cnn", "data": "fashion_mnist", "seed": 1, "workers": 2, "servers": 2,
    "seconds": 84.6, "setup_seconds": 2.1, "samples": 150000, "samples_budget": 150000,
    "target_accuracy": 0.88, "seconds_to_target": 60.3, "test_accuracy": 0.889,
    "train_loss": 0.27, "steps": [1406, 469], "wait_share": [0.66, 0.003],
    "staleness": {"p50": 0, "p95": 0, "max": 0},
    "pushes": {"applied": 1875, "dropped": 0, "repeated": 0},
    "bytes": {"pushed": 1300000000, "pulled": 2600000000},
    "failures": [{"role": "worker", "rank": 1, "cause": "signal", "signal": 9, "exit_code": None,
                  "at_seconds": 31.4, "at_step": 517, "text": None}],
    "param_sha256": "ab" * 32,
    "accuracy": [{"seconds": 20, "samples": 50000, "version": 1, "accuracy": 0.85, "loss": 0.5}],
    "staleness_histogram": [[0, 1875]],
}
DECISION = ('{"now": 60000000, "event": "pushed", "push": [1, 1, %d], "version": 3, '
            '"apply": [[[0, 1, %d], [1, 1, %d]]], "drop": [], "release": [0, 1], '
            '"reason": "superstep %d is whole"}\n')


@pytest.fixture
def runs(tmp_path):
    for name, policy in (("20260101-000000-bsp-1", "bsp"), ("20260102-000000-asp-1", "asp")):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        folder.joinpath("config.toml").write_text(
            f'[train]\nsamples = 150000\n[sync]\npolicy = "{policy}"\n')
        folder.joinpath("summary.json").write_text(
            json.dumps(SUMMARY | {"run": name, "policy": policy}))
        folder.joinpath("decisions.jsonl").write_text(
            "".join(DECISION % (i, i, i, i + 8) for i in range(4)) + '{"now": 6')
    (tmp_path / "runs" / "latest").symlink_to(name)
    killed = tmp_path / "runs" / "20260103-000000-ssp-1"
    killed.mkdir()
    killed.joinpath("config.toml").write_text('[train]\nsamples = 9\n[sync]\npolicy = "ssp:3"\n')
    (tmp_path / "runs" / "not-a-run").mkdir()
    return tmp_path / "runs"


def test_runs_lists_all_the_oldest_first(paceline, runs):
    listed = paceline("runs", "--json").json
    assert [r["policy"] for r in listed] == ["bsp", "asp", "ssp:3"]
    assert listed[0]["test_accuracy"] == 0.889
    assert listed[2]["exit"] is None and listed[2]["seconds"] is None
    table = paceline("runs", "--dir", runs).out
    assert "no summary" in table and "not-a-run" not in table and "0.8890" in table


def test_no_runs_yet(paceline, refused, tmp_path):
    assert paceline("runs", "--json").json == []
    assert "paceline train" in paceline("runs").out
    (tmp_path / "file").write_text("x")
    refused(2, "runs", "--dir", "file")
    assert "paceline train" in refused(3, "show")["fix"]


def test_show_is_the_summary_and_more(paceline, runs):
    shown = paceline("show", "--json").json
    assert shown["run"] == "20260102-000000-asp-1", "the latest, if none is named"
    assert SUMMARY.keys() <= shown.keys()
    assert shown["decisions"]["events"] == 4 and shown["decisions"]["updates"] == 4
    assert shown["decisions"]["pushes"] == 8 and shown["decisions"]["unreadable"] == 1
    assert shown["decisions"]["frequent_reasons"] == [{"reason": "superstep N is whole", "times": 4}]
    text = paceline("show", runs / "20260101-000000-bsp-1").out
    for word in ("bsp", "84.6 s", "88.9 %", "66.0 %", "1406", "worker 1: signal at 31.4 s, step 517",
                 "4 x  superstep N is whole"):
        assert word in text


def test_a_run_that_is_not_there_or_has_no_summary(refused, runs):
    assert "20260101-000000-bsp-1" in refused(3, "show", "20260101-000000-bsp-2")["fix"]
    assert "no summary" in refused(3, "show", "20260103-000000-ssp-1")["what"]
    (runs / "20260101-000000-bsp-1" / "summary.json").write_text('{"run": ')
    refused(3, "show", "20260101-000000-bsp-1")


def test_report_compares_in_one_file(paceline, refused, runs, tmp_path):
    names = ["20260101-000000-bsp-1", "20260102-000000-asp-1"]
    done = paceline("report", *names, "-o", "out.html")
    assert done.code == 0 and "60.3 s" in done.out
    html = (tmp_path / "out.html").read_text()
    assert "bsp against asp" in html and "<script" not in html and "http" not in html
    assert paceline("report", *names, "--json").json["report"] == "report.html"
    refused(5, "report", *names, "-o", "no/such/folder.html")
    refused(3, "report", "nope")
