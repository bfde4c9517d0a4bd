"""sim/ from Python: clusters, comparisons, and policies of one's own in them."""

import json

import own_policies as own
import paceline
import pytest
from paceline import sim
from paceline.sync import Decision

CLUSTER = sim.cluster("one_slow_of_eight")


def timeless(comparison):
    """All of it but what this machine's speed decides."""

    def strip(value):
        if isinstance(value, dict):
            return {key: strip(each) for key, each in value.items()
                    if key not in {"compute_seconds", "events_per_second"}}
        return [strip(each) for each in value] if isinstance(value, list) else value

    return strip(comparison.to_dict())


@pytest.mark.parametrize("spec, policy", [("bsp", own.BSP), ("asp", own.ASP)])
def test_the_same_rule_in_python_gives_the_same_run(spec, policy):
    ours = sim.compare(CLUSTER, [spec], steps=50, seeds=3, seed=5)
    python = sim.compare(CLUSTER, [policy], steps=50, seeds=3, seed=5)
    assert timeless(python) == timeless(ours)
    assert len(python[spec].decisions_sha256) == 64


def test_a_comparison():
    result = sim.compare(CLUSTER, ["bsp", own.ASP, "ssp:3"], steps=40, seeds=2)
    assert [outcome.policy for outcome in result.policies] == ["bsp", "asp", "ssp:3"]
    assert (result.cluster, result.workers, result.seeds) == ("one_slow_of_eight", 8, 2)
    bsp, asp = result["bsp"], result["asp"]
    assert bsp.pushes == asp.pushes == 40 * 8
    assert asp.steps_per_second > 2 * bsp.steps_per_second
    assert asp.wait_share_mean == 0 < bsp.wait_share_mean
    assert bsp.staleness["max"] == 0 < asp.staleness["max"]
    assert len(bsp.by_seed) == 2 and len(bsp.wait_share) == 8
    with pytest.raises(KeyError, match="there are bsp, asp, ssp:3"):
        result["dssp"]
    assert repr(result) == "<comparison of bsp, asp, ssp:3 on one_slow_of_eight>"


def test_it_is_the_json_of_the_command_line(tmp_path):
    import os
    import subprocess

    program = os.path.join(os.environ["BUILD_BIN"], "paceline")
    words = "sim --compare bsp,ssp:3 --cluster one_slow_of_eight --steps 30 --seeds 2 --seed 4 --json"
    run = subprocess.run([program, *words.split()], cwd=tmp_path, capture_output=True, text=True, check=True)
    told = json.loads(run.stdout)
    ours = sim.compare(CLUSTER, ["bsp", "ssp:3"], steps=30, seeds=2, seed=4)
    fields = {"policy", "pushes", "seconds", "steps_per_second", "wait_share", "staleness", "decisions_sha256"}
    for theirs, mine in zip(told["policies"], ours.to_dict()["policies"], strict=True):
        assert {key: theirs[key] for key in fields} == {key: mine[key] for key in fields}


def test_its_bars():
    result = sim.compare(CLUSTER, ["bsp", own.ASP], steps=40)
    head, bsp, asp = str(result).splitlines()
    assert head.split() == ["policy", "steps/s", "waiting", "staleness", "p50/p95/max"]
    assert asp.startswith("asp") and asp.count("#") == 20
    share = result["bsp"].steps_per_second / result["asp"].steps_per_second
    assert bsp.count("#") == round(20 * share)


def test_seconds_bound_a_run():
    result = sim.compare(CLUSTER, [own.ASP, "asp"], seconds=30)
    assert result.policies[0].seconds == result.policies[1].seconds == 30
    assert result.policies[0].pushes == result.policies[1].pushes > 0


def test_a_thousand_steps_if_nothing_is_said():
    assert sim.compare(sim.cluster(2), ["asp"])["asp"].pushes == 2000


def test_the_same_seed_gives_the_same_and_another_another():
    one, same, other = (sim.compare(CLUSTER, [own.BSP], steps=20, seed=s) for s in (1, 1, 2))
    assert timeless(one) == timeless(same)
    assert one["bsp"].decisions_sha256 != other["bsp"].decisions_sha256


@pytest.mark.parametrize("policy, exception", [
    (type("Fails", (own.ASP,), {"pushed": lambda self, push, now: {}[push]}), KeyError),
    (type("Odd", (own.ASP,), {"pushed": lambda self, push, now: None}), TypeError),
    (type("Twice", (own.ASP,), {"pushed": lambda self, push, now: Decision(
        [[push], [push]], release=[push.worker], reason="x")}), paceline.ContractError),
    (type("Hangs", (own.ASP,), {"pushed": lambda self, push, now: Decision(
        [[push]], reason="x")}), paceline.ContractError),
    (type("Absent", (own.ASP,), {"pushed": lambda self, push, now: Decision(
        [[push]], release=[99], reason="x")}), paceline.ContractError),
    (type("Wordless", (own.ASP,), {"pushed": lambda self, push, now: Decision(
        [[push]], release=[push.worker])}), paceline.ContractError),
])
def test_what_a_policy_does_wrong_ends_the_comparison_not_the_process(policy, exception):
    for _ in range(3):
        with pytest.raises(exception):
            sim.compare(CLUSTER, ["bsp", policy], steps=20, seeds=2)
    assert sim.compare(CLUSTER, [own.BSP], steps=5)["bsp"].pushes == 40


@pytest.mark.parametrize("words, exception, what", [
    ({"policies": ["bps"]}, paceline.InvalidArgument, "did you mean 'bsp'"),
    ({"policies": []}, paceline.InvalidArgument, "no policy"),
    ({"policies": "bsp"}, TypeError, "a list"),
    ({"policies": own.BSP}, TypeError, "a list"),
    ({"policies": [own.BSP()]}, TypeError, "fresh"),
    ({"cluster": "one_slow_of_eight"}, TypeError, "no cluster"),
    ({"steps": 0}, paceline.InvalidArgument, "0 steps"),
    ({"steps": 5, "seconds": 5}, paceline.InvalidArgument, "exclude"),
    ({"seconds": float("nan")}, paceline.InvalidArgument, "nan seconds"),
    ({"seconds": -1}, paceline.InvalidArgument, "-1 seconds"),
    ({"seeds": 0}, paceline.InvalidArgument, "0 seeds"),
    ({"seed": -1}, TypeError, "incompatible"),
])
def test_what_cannot_be_compared(words, exception, what):
    with pytest.raises(exception, match=what):
        sim.compare(**{"cluster": CLUSTER, "policies": ["bsp"], **words})


# ---- clusters ----


def test_the_profiles():
    names = [profile.name for profile in sim.profiles()]
    assert "one_slow_of_eight" in names and len(names) == len(set(names))
    for profile in sim.profiles():
        assert sim.cluster(profile.name).workers == profile.workers > 0
    assert repr(CLUSTER) == "<cluster one_slow_of_eight: 8 workers>"


def test_equal_workers():
    assert sim.cluster(5).workers == 5


@pytest.mark.parametrize("source, exception, what", [
    ("one_slow_of_nine", paceline.NotFound, "one_slow_of_eight"),
    (0, paceline.InvalidArgument, "0 workers"),
    (True, TypeError, "no cluster"),
    (4.5, TypeError, "no cluster"),
    (None, TypeError, "no cluster"),
])
def test_what_is_no_cluster(source, exception, what):
    with pytest.raises(exception, match=what):
        sim.cluster(source)
