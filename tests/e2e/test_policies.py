"""Every policy trains for real; BSP gives the same bits each time, and those of one thread."""

import json
import subprocess
import sys

import pytest
from conftest import BIN, ROOT

POLICIES = ["bsp", "asp", "ssp:3", "dssp:3-15", "dssp_literal:3-15", "elastic_bsp:15"]


@pytest.mark.parametrize("policy", POLICIES)
def test_trains_to_the_end_of_its_budget(train, policy):
    run = train(policy, train__samples=4000)
    summary = run.finish()
    assert summary["exit"] == "ok"
    assert summary["policy"] == policy
    assert summary["samples"] == 4000
    assert summary["pushes"] == {"applied": 500, "dropped": 0, "repeated": 0}
    assert sum(summary["steps"]) == 500
    assert summary["failures"] == []
    assert summary["test_accuracy"] > 0.5
    assert len(summary["param_sha256"]) == 64
    assert all(0 <= share <= 1 for share in summary["wait_share"])
    assert 0 < summary["setup_seconds"]
    assert summary["bytes"]["pushed"] > 0 and summary["bytes"]["pulled"] > 0
    if policy == "bsp":
        assert summary["staleness"]["max"] == 0
    folder = run.folder()
    assert "<html" in (folder / "report.html").read_text()
    assert json.loads((folder / "trace.json").read_text())
    assert (folder / "metrics.jsonl").read_text().count("\n") >= 2
    applied = sum(len(apply) for d in run.decisions() for apply in d["apply"])
    assert applied == 500
    # The simulator, fed with the live run's events, decides the same; a simulated BSP run of the
    # same configuration has the same barriers and applied pushes.
    options = ["--simulate"] if policy == "bsp" else []
    replayed = subprocess.run([BIN / "paceline", "replay", folder, "--json", *options],
                              capture_output=True, text=True, check=False)
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    replayed = json.loads(replayed.stdout)
    assert replayed["decisions"] > 500 and replayed["difference"] is None
    if policy == "bsp":
        assert replayed["simulation"]["equal"]
        assert replayed["simulation"]["live"]["barriers"] == summary["barriers"]
    assert run.left_over() == []


def test_bsp_gives_the_same_bits_again(train):
    first = train("bsp").finish()
    again = train("bsp", cluster__servers=3).finish()
    assert first["param_sha256"] == again["param_sha256"]
    other = train("bsp", run__seed=2).finish()
    assert first["param_sha256"] != other["param_sha256"]


def test_four_workers_give_the_bits_of_one_thread(train, data):
    """50 steps of four workers against one process that sums their batches in rank order."""
    summary = train("bsp", cluster__workers=4, train__samples=1600, run__seed=3,
                    optimizer__lr=0.1, optimizer__momentum=0.9,
                    optimizer__schedule='{name="cosine", warmup=0.05}').finish()
    assert summary["steps"] == [50, 50, 50, 50]
    serial = subprocess.run(
        [BIN / "train_serial", "mlp", "3", "0.1", "0.9", "1600", "4", "8", "0.05"],
        capture_output=True, text=True, check=True)
    assert summary["param_sha256"][:16] == serial.stdout.split()[-1]


def test_the_demo_compares_two_policies(tmp_path, data):
    """tools/demo on a small part of its budget: a table, and a report that needs nothing else."""
    command = [sys.executable, ROOT / "tools/demo", "--paceline", BIN / "paceline"]
    command += ["--dir", tmp_path / "runs", "--report", tmp_path / "demo.html", "--seed", "2"]
    for setting in ["train.samples=3200", "train.eval_every_samples=1600", "model.name=mlp",
                    f"data.path={data}", "cluster.step_floor_ms=[10, 10, 10, 30]"]:
        command += ["--set", setting]
    demo = subprocess.run(command, capture_output=True, text=True, check=False)
    assert demo.returncode == 0, demo.stderr
    lines = demo.stdout.splitlines()
    assert any(line.split() == ["policy", "bsp", "elastic_bsp"] for line in lines)
    for row in ["seconds to 0.88", "final test accuracy", "steps by worker",
                "waiting by worker, %", "staleness p50", "staleness max", "pushed, MB"]:
        assert any(line.strip().startswith(row) for line in lines), row
    html = (tmp_path / "demo.html").read_text()
    assert "elastic_bsp" in html and "<svg" in html
    assert "http://" not in html.replace("http://www.w3.org", "") and "https://" not in html
