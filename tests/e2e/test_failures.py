"""Processes that are stopped and killed: the run goes on, or ends and says why; nobody is left."""

import os
import pathlib
import signal
import tempfile
import time

import pytest
from conftest import BIN, processes_of, send, wait_for

POLICIES = ["bsp", "asp", "ssp:3", "dssp:3-15", "dssp_literal:3-15", "elastic_bsp:15"]
STEADY = {"cluster__step_floor_ms": "[40, 40, 40]"}  # so that there is a middle
ENDLESS = {**STEADY, "train__samples": 8_000_000}
MID_STEP = {"model__name": "cnn", "train__batch_size": 6000, "train__samples": 8_000_000}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_killed_worker_is_missed_at_once_and_the_others_finish(train, policy):
    run = train(policy, **STEADY)
    run.wait_for_pushes(30)
    killed_at = time.monotonic_ns()
    os.kill(run.pid("worker", 1), signal.SIGKILL)
    summary = run.finish()
    assert summary["exit"] == "ok"
    assert summary["samples"] == 1920
    failure, = summary["failures"]
    assert (failure["role"], failure["rank"], failure["signal"]) == ("worker", 1, 9)
    assert failure["cause"] == "signal"
    assert "worker 1" in run.errors() and "SIGKILL" in run.errors()
    killed = run.seconds_of(killed_at)
    # Well before a heartbeat could tell: the connection broke.
    left = next(d["now"] * 1e-9 for d in run.decisions() if d["event"] == "left")
    assert left - killed < 5
    moved = {d["push"][0]: d["now"] * 1e-9 - killed for d in reversed(run.decisions())
             if d["event"] == "pushed" and d["now"] * 1e-9 > left}
    assert set(moved) == {0, 2} and max(moved.values()) < 5, moved
    print(f"{policy}: missed after {left - killed:.3f} s, others moved after {moved}")
    assert run.left_over() == []


@pytest.mark.parametrize("role", ["server", "coordinator"])
def test_a_lost_server_or_coordinator_ends_the_run_and_is_named(train, role):
    run = train("bsp", **ENDLESS)
    run.wait_for_pushes(10)
    os.kill(run.pid(role), signal.SIGKILL)
    assert run.end() == 4
    assert role in run.errors() and "SIGKILL" in run.errors()
    assert f"{role}-0.log" in run.errors()
    assert "last words" not in run.errors(), "a line of a log where all went well explains nothing"
    assert run.summary()["exit"] == "process"
    assert run.left_over() == []


def test_all_workers_lost_ends_the_run(train):
    run = train("elastic_bsp", **ENDLESS)
    run.wait_for_pushes(10)
    for rank in range(3):
        os.kill(run.pid("worker", rank), signal.SIGKILL)
    assert run.end() == 4
    assert len(run.summary()["failures"]) == 3
    assert run.left_over() == []


def test_a_lost_evaluator_does_not_stop_training(train):
    run = train("bsp", **STEADY)
    run.wait_for_pushes(10)
    os.kill(run.pid("evaluator"), signal.SIGKILL)
    summary = run.finish()
    assert summary["samples"] == 1920
    assert [f["role"] for f in summary["failures"]] == ["evaluator"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_mid_step_ends_all_in_under_five_seconds(train, number, code):
    run = train("bsp", **MID_STEP)  # a step takes seconds
    wait_for("training to begin", lambda: "training begins" in run.log("coordinator"))
    began = time.monotonic()
    send(run, number)
    assert run.end() == code
    assert time.monotonic() - began < 5
    assert run.left_over() == []
    assert run.summary()["exit"] == ("interrupted" if code == 130 else "terminated")


def test_ctrl_c_before_training_begins(train):
    run = train("bsp", **ENDLESS)
    run.folder()
    send(run)
    assert run.end() == 130
    assert run.left_over() == []
    assert run.summary()["steps"] in ([], [0, 0, 0])


def test_ctrl_c_from_the_terminal_reaches_the_whole_group(train):
    run = train("elastic_bsp", **ENDLESS)
    run.wait_for_pushes(10)
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.end() == 130
    assert run.summary()["failures"] == []
    assert run.left_over() == []


@pytest.fixture
def own_runtime_folder(monkeypatch):
    """Nobody else's run clears up there. Not tmp_path: names of sockets are short."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield folder


def test_killing_the_launcher_leaves_nobody(train, own_runtime_folder):
    run = train("bsp", **ENDLESS)
    run.wait_for_pushes(10)
    folder = run.folder()
    assert len(processes_of(folder)) == 7  # coordinator, 2 servers, 3 workers, evaluator
    sockets = pathlib.Path(run.address("coordinator").removeprefix("unix:")).parent
    run.process.kill()
    run.process.wait()
    wait_for("all processes to be gone", lambda: not processes_of(folder))
    # Its sockets cannot be removed by a process that is killed: the next run does it.
    assert sockets.exists()
    train("bsp", train__samples=400).finish()
    assert not sockets.exists()


def test_what_a_program_of_ones_own_prints_goes_to_its_log(train, tmp_path):
    program = tmp_path / "talkative"
    program.write_text(f'#!/bin/sh\necho hello\nexec "{BIN}/paceline-worker" "$@"\n')
    program.chmod(0o755)
    run = train("bsp", **STEADY, model__program=program)
    run.wait_for_pushes(10)
    for role, rank in [("worker", 1), ("evaluator", 0)]:
        files = f"/proc/{run.pid(role, rank)}/fd"
        assert os.readlink(f"{files}/1") == os.readlink(f"{files}/2")
        assert "hello" in run.log(role, rank).splitlines()
    assert run.finish()["failures"] == []


def test_programs_that_are_no_workers_are_not_waited_for(train):
    run = train("bsp", model__program="/bin/true")
    assert run.end() == 4
    assert "no worker is left; worker" in run.errors() and "exit code 0" in run.errors()
