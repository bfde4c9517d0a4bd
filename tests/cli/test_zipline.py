"""zipline: against every combination, and each way a matrix can be wrong."""

import itertools
import random

import pytest


def brute_force(rows):
    """The rule of the contract: least wait, then the earliest barrier, then each latest index."""
    wait, barrier = min((max(ends) - min(ends), max(ends)) for ends in itertools.product(*rows))
    steps = [sum(end <= barrier for end in row) for row in rows]
    ends = [row[k - 1] for row, k in zip(rows, steps)]
    return {"steps": steps, "end_times": ends, "barrier": barrier, "wait": wait,
            "total_wait": sum(barrier - end for end in ends)}


def written(rows, draw):
    between = draw.choice([",", " ", "\t", ", ", "  "])
    end = draw.choice(["\n", "\r\n"])
    return end.join(between.join(map(repr, row)) for row in rows) + draw.choice(["", end, end * 3])


@pytest.mark.parametrize("seed", range(60))
def test_agrees_with_brute_force(paceline, seed):
    draw = random.Random(seed)
    rows = []
    for _ in range(draw.randint(1, 4)):
        length = draw.randint(1, 6)
        # Small whole numbers make ties, fractions none.
        pool = range(12) if draw.random() < 0.6 else [draw.uniform(0, 9) for _ in range(50)]
        rows.append(sorted(draw.sample(sorted(set(pool)), length)))
    done = paceline("zipline", "-", "--json", stdin=written(rows, draw))
    assert done.code == 0, done.err
    answer = done.json
    assert answer.pop("compute_seconds") >= 0
    expected = brute_force(rows)
    assert answer.pop("total_wait") == pytest.approx(expected.pop("total_wait"))
    assert answer == expected


def test_reads_a_file_and_tells_people(paceline, tmp_path):
    (tmp_path / "ends.csv").write_text("2,4,6\n5,9\n")
    done = paceline("zipline", "ends.csv")
    assert done.code == 0
    assert "barrier at 5" in done.out and "waits 1" in done.out
    fields = paceline("zipline", "ends.csv", "--json").json
    assert list(fields) == ["steps", "end_times", "barrier", "wait", "total_wait",
                            "compute_seconds"]


@pytest.mark.parametrize("text, where, what", [
    ("1 2\n3 x\n", "m.csv:2", "value 2 is 'x', no number"),
    ("1 2\n3 3\n", "m.csv:2", "not above the one before it"),
    ("1 2\n4 3\n", "m.csv:2", "not above the one before it"),
    ("-1 2\n", "m.csv:1", "less than 0"),
    ("1 inf\n", "m.csv:1", "not finite"),
    ("1 nan\n", "m.csv:1", "not finite"),
    ("1 1e999\n", "m.csv:1", "out of range"),
    ("1 2\n\n3\n", "m.csv:2", "is missing"),
    ("1,,2\n", "m.csv:1", "value 2 is missing"),
    ("1,2,\n", "m.csv:1", "value 3 is missing"),
    (",1\n", "m.csv:1", "value 1 is missing"),
    ("1 2x\n", "m.csv:1", "'2x', no number"),
    ("+-1\n", "m.csv:1", "no number"),
    ("", "m.csv", "no row"),
    (" \n\n", "m.csv", "no row"),
    ("\0\1\2", "m.csv:1", "no number"),
])
def test_a_wrong_matrix_is_named_with_its_line(refused, tmp_path, text, where, what):
    (tmp_path / "m.csv").write_text(text)
    error = refused(2, "zipline", "m.csv")
    assert error["where"] == where
    assert what in error["what"]


def test_files_that_are_none(refused, tmp_path):
    assert refused(3, "zipline", "none.csv")["where"] == "none.csv"
    refused(5, "zipline", tmp_path)


def test_a_large_matrix(paceline, tmp_path):
    draw = random.Random(1)
    steps = [draw.uniform(0.5, 2) for _ in range(300)]
    (tmp_path / "m.csv").write_text(
        "\n".join(",".join(f"{step * (i + 1):.9f}" for i in range(150)) for step in steps))
    answer = paceline("zipline", "m.csv", "--json").json
    assert len(answer["steps"]) == 300
    assert answer["barrier"] == max(answer["end_times"])
    assert answer["wait"] == pytest.approx(answer["barrier"] - min(answer["end_times"]))
