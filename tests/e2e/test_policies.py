"""Every policy trains for real; BSP gives the same bits each time, and those of one thread."""

import json
import subprocess

import pytest
from conftest import BIN

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
