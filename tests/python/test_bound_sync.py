"""sync/ from Python: the registry, the reviewed conversations, zipline."""

import itertools
import random
import re

import numpy
import paceline
import pytest
from conftest import ROOT
from paceline.sync import (Decision, Joined, Left, PushId, Pushed, check_contract, make_policy,
                           policies, split_policies, zipline)

TRANSCRIPTS = sorted(path for path in (ROOT / "tests/transcripts").glob("*.txt")
                     if path.read_text().startswith("policy "))


def event_of(line, now):
    verb, worker, *fields = line.split()
    given = dict(field.split("=") for field in fields)
    now = float(given.get("at", now))
    if verb == "join":
        return Joined(int(worker), now)
    if verb == "leave":
        return Left(int(worker), now)
    return Pushed(int(worker), int(given["step"]), int(given.get("life", 1)), now)


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_python_has_the_same_conversations(path):
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    policy = make_policy(lines.pop(0).removeprefix("policy "))
    now, said = 0.0, 0
    for line, after in itertools.zip_longest(lines, lines[1:], fillvalue=""):
        if line.startswith("  "):
            continue
        text, answer = re.split(r" *-> ", line)
        event = event_of(text, now)
        now = event.now
        decision = policy.step(event)
        assert str(decision) == answer
        assert decision.reason == (after.strip() if after.startswith("  ") else "")
        said += 1
    assert said > 3


def test_a_decision_in_parts():
    bsp = make_policy("bsp")
    for worker in (0, 1):
        assert bsp.step(Joined(worker)).release == [worker]
    assert bsp.step(Pushed(1, step=4, incarnation=2, now=1)).apply == []
    decision = bsp.step(Pushed(0, step=7, now=2))
    assert decision.apply == [[PushId(0, 1, 7), PushId(1, 2, 4)]]
    assert decision.apply[0][1].incarnation == 2
    assert (decision.drop, decision.release) == ([], [0, 1])
    assert bsp.step(Left(3)) == Decision()


def test_events_and_decisions_as_text():
    assert str(Pushed(1, step=4, incarnation=2, now=1.5)) == "push 1 step=4 life=2 at=1.5"
    assert str(Joined(3)) == "join 3"
    assert str(Left(3, now=5.01)) == "leave 3 at=5.01"
    decision = Decision([[PushId(0, 1, 7)]], [PushId(1, 2, 4)], [0, 1], "why")
    assert str(decision) == "apply 0#7; drop 1#4/2; release 0 1"


@pytest.mark.parametrize("now", [-1e300, -1.0, 0.0, 1e300, float("inf")])
def test_any_time_is_harmless(now):
    policy = make_policy("elastic_bsp:3")
    assert policy.step(Joined(0, now)).release == [0]
    assert policy.step(Pushed(0, 0, now=now)).release == [0]


def test_what_is_no_event_is_refused():
    policy = make_policy("asp")
    with pytest.raises(ValueError, match="not a number"):
        policy.step(Joined(0, float("nan")))
    for wrong in (Joined(-1), Joined(2**32), Joined("0"), Pushed(0, -1), Pushed(0, 2**64), "join 0", None):
        with pytest.raises(TypeError):
            policy.step(wrong)
    assert policy.step(Joined(0)).release == [0], "the machine goes on"


def test_the_registry_round_trips():
    assert [entry.name for entry in policies()][:3] == ["bsp", "asp", "ssp"]
    for entry in policies():
        assert make_policy(entry.example).spec == entry.example
        assert (ROOT / entry.file).is_file() and entry.doc and entry.source
        check_contract(entry.example, events=500)
    assert split_policies("bsp,elastic_bsp:15,predictor=last,ssp:3") == [
        "bsp", "elastic_bsp:15,predictor=last", "ssp:3"]


def widest_wait(rows):
    """By every combination: the least wait, of those the earliest barrier."""
    return min((max(ends) - min(ends), max(ends)) for ends in itertools.product(*rows))


def test_zipline_agrees_with_every_combination():
    rng = random.Random(1)
    for _ in range(200):
        rows = [sorted(rng.sample(range(1, 40), rng.randint(1, 4))) for _ in range(rng.randint(1, 4))]
        found = zipline(rows)
        wait, barrier = widest_wait(rows)
        ends = [row[i - 1] for row, i in zip(rows, found.index)]
        assert (found.wait, found.barrier) == (wait, barrier)
        assert found.total_wait == sum(barrier - end for end in ends)


def test_zipline_takes_arrays():
    rows = [[1.0, 2.0, 3.0], [2.9, 5.8, 8.7]]
    array = numpy.array(rows)
    expected = zipline(rows)
    assert zipline(array) == expected
    assert zipline(numpy.asfortranarray(array)) == expected
    assert zipline(array[:, ::1]) == expected
    assert zipline(list(array)) == expected
    assert zipline(numpy.array([[1, 2, 3], [2, 4, 6]])) == zipline([(1, 2, 3), (2, 4, 6)])


@pytest.mark.parametrize("rows, what", [
    ([], "no rows"), ([[]], "row 1 is empty"), ([[1], [2, 1]], "row 2, column 2"),
    ([[float("nan")]], "nan is no end time"), (numpy.zeros((0, 3)), "no rows"),
    (numpy.zeros((2, 0)), "row 1 is empty")])
def test_zipline_names_what_is_wrong(rows, what):
    with pytest.raises(paceline.InvalidArgument, match=what):
        zipline(rows)


@pytest.mark.parametrize("rows", ["ab", [["a"]], 3, None, [1.0, 2.0], numpy.zeros(3)])
def test_zipline_refuses_what_is_no_matrix(rows):
    with pytest.raises(TypeError, match="a list of lists of numbers"):
        zipline(rows)
