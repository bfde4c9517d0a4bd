"""Policies written in Python: the contract finds slips, and nothing they do ends the process."""

import itertools

import own_policies as own
import paceline
import pytest
from paceline.sync import (Decision, Joined, Left, Policy, PushId, Pushed, check_contract,
                           make_policy)


def breach(policy, **more):
    with pytest.raises(paceline.ContractError) as caught:
        check_contract(policy, **more)
    return str(caught.value)


def test_a_good_one_keeps_the_contract():
    check_contract(own.BSP)
    check_contract(lambda: own.BSP(), seed=7, events=1000)
    check_contract(lambda: make_policy("ssp:2"), events=500)


def test_a_leave_that_closes_no_barrier():
    class Forgets(own.BSP):
        def left(self, worker, now):
            self.workers.discard(worker)
            self.waiting.discard(worker)
            return Decision(reason="left")

    assert breach(Forgets) == (
        "policy 'bsp' breaks the contract: all wait, and nobody may go on\n"
        "join 0                          -> release 0\n"
        "    worker 0 joins superstep 1, whose barrier waits for 1\n"
        "join 1                          -> release 1\n"
        "    worker 1 joins superstep 1, whose barrier waits for 2\n"
        "push 0 step=0                   -> -\n"
        "    worker 0 waits at the barrier of superstep 1: 1 of 2 are there\n"
        "leave 1                         -> -\n"
        "    left\n"
        "paceline/sync/contract.h says what every policy promises")


def answering(**answer):
    """A policy class that answers a push so."""

    class Odd(own.ASP):
        def pushed(self, push, now):
            fields = {"apply": [[push]], "release": [push.worker], "reason": "goes on"}
            fields.update({key: make(push) for key, make in answer.items()})
            return Decision(**fields)

    return Odd


@pytest.mark.parametrize("what, policy", [
    ("released twice", answering(release=lambda push: [push.worker, push.worker])),
    ("is released although it is not in the run", answering(release=lambda push: [push.worker, 9])),
    ("applied although it was decided before", answering(apply=lambda push: [[push], [push]])),
    ("dropped although it was decided before", answering(drop=lambda push: [push])),
    ("nobody made it", answering(apply=lambda push: [[push._replace(step=99)]])),
    ("holds no push", answering(apply=lambda push: [[push], []])),
    ("without its reason", answering(reason=lambda push: "")),
    ("neither applied nor dropped", answering(apply=lambda push: [])),
    ("nobody may go on", answering(release=lambda push: [])),
])
def test_the_contract_names_what_is_broken(what, policy):
    assert what in breach(policy)
    # Told directly, or simulated, it does no harm either.
    told = policy()
    told.step(Joined(0))
    if what != "neither applied nor dropped":  # seen only when the worker leaves
        with pytest.raises(paceline.ContractError, match=what):
            told.step(Pushed(0, 0))


def test_one_that_does_not_do_the_same_again():
    lots = itertools.count()

    class Fickle(own.ASP):
        def joined(self, worker, now):
            return Decision(release=[worker], reason=f"number {next(lots)}")

    assert "the same events give another decision" in breach(Fickle)


def test_one_that_holds_a_worker_for_good():
    class Holds(own.ASP):
        def __init__(self):
            self.workers = set()

        def joined(self, worker, now):
            self.workers.add(worker)
            return super().joined(worker, now)

        def left(self, worker, now):
            self.workers.discard(worker)
            return super().left(worker, now)

        def pushed(self, push, now):
            last = push.worker == max(self.workers) and len(self.workers) > 1
            return Decision([[push]], release=[] if last else [push.worker], reason="held")

    assert "does not get on" in breach(Holds) or "nobody may go on" in breach(Holds)


def test_the_same_seed_asks_the_same():
    def conversation(seed):
        told = []

        class Listens(own.ASP):
            def pushed(self, push, now):
                told.append((push, now))
                return super().pushed(push, now)

        check_contract(Listens, seed=seed, events=300)
        return told

    assert conversation(3) == conversation(3) != conversation(4)


# ---- what goes wrong in the policy itself ----


@pytest.mark.parametrize("method, tell", [
    ("joined", [Joined(0)]), ("pushed", [Joined(0), Pushed(0, 0)]), ("left", [Joined(0), Left(0)])])
def test_what_it_raises_comes_out_as_it_is(method, tell):
    class Own(Exception):
        pass

    def fails(self, *told):
        raise Own("mine")

    policy = type("Fails", (own.ASP,), {method: fails})
    with pytest.raises(Own, match="mine") as caught:
        check_contract(policy)
    if hasattr(caught.value, "__notes__"):
        assert "the last events that the policy was told of:\n    join" in caught.value.__notes__[0]
    told = policy()
    with pytest.raises(Own):
        for event in tell:
            told.step(event)


def test_a_stop_from_the_keyboard_comes_through():
    class Stopped(own.ASP):
        def pushed(self, push, now):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_contract(Stopped)


@pytest.mark.parametrize("answer, what", [
    (None, r"Odd.pushed\(\) returned None; it must return a paceline.sync.Decision"),
    ([0], r"returned \[0\]; it must return"),
    (Decision(apply=[PushId(0, 1, 0)], reason="x"), r"apply\[0\] is a PushId.*apply=\[\[push\]\]"),
    (Decision(apply=[["x"]], reason="x"), r"apply\[0\] holds 'x'; it must hold PushId"),
    (Decision(apply=3, reason="x"), r"apply is 3; it must be a list of lists of PushId"),
    (Decision(drop=[0], reason="x"), r"drop holds 0; it must hold PushId"),
    (Decision(release=0, reason="x"), r"release is 0; it must be a list of workers' ids"),
    (Decision(release="01", reason="x"), r"release is '01'"),
    (Decision(release=[PushId(0, 1, 0)], reason="x"), r"release holds PushId"),
    (Decision(release=[-1], reason="x"), r"release holds -1"),
    (Decision(release=[2**32], reason="x"), r"release holds 4294967296"),
    (Decision(reason=3), r"reason is 3; it must be a str"),
    (Decision(apply=[[PushId(-1, 1, 0)]], reason="x"), r"PushId\(worker=-1"),
    (Decision(apply=[[PushId(0, 1, "a")]], reason="x"), r"PushId\(worker=0, incarnation=1, step='a'"),
])
def test_a_wrong_answer_is_a_type_error_that_says_what_is_expected(answer, what):
    policy = type("Odd", (own.ASP,), {"pushed": lambda self, push, now: answer})
    with pytest.raises(TypeError, match=what):
        check_contract(policy)
    told = policy()
    told.step(Joined(0))
    with pytest.raises(TypeError, match=what):
        told.step(Pushed(0, 0))


def test_a_method_that_is_missing():
    class Half(Policy):
        def joined(self, worker, now):
            return Decision(release=[worker], reason="joins")

    with pytest.raises(NotImplementedError, match="Half has no pushed"):
        check_contract(Half)


@pytest.mark.parametrize("policy, what", [
    (own.BSP(), "each run needs a fresh one"), (3, "each run needs a fresh one"),
    (lambda: 3, "must make a paceline.sync.Policy"), (Decision, "must make a paceline.sync.Policy")])
def test_what_makes_no_policy(policy, what):
    with pytest.raises(TypeError, match=what):
        check_contract(policy)


def test_a_used_one_is_refused():
    one = own.BSP()
    with pytest.raises(ValueError, match="make a fresh one"):
        check_contract(lambda: one)
    with pytest.raises(paceline.InvalidArgument, match="did you mean 'ssp'"):
        check_contract("sspp:3")


# ---- what it sees ----


def test_it_sees_only_what_makes_sense():
    seen = []

    class Listens(own.ASP):
        def joined(self, worker, now):
            seen.append(("joined", worker, now))
            return super().joined(worker, now)

        def pushed(self, push, now):
            seen.append(("pushed", push, now))
            return super().pushed(push, now)

        def left(self, worker, now):
            seen.append(("left", worker, now))
            return super().left(worker, now)

    policy = Listens()
    for event in (Pushed(0, 0, now=9), Joined(0, 0.5), Joined(0, 9), Pushed(0, 3, now=1.25), Pushed(0, 3, now=9),
                  Pushed(0, 2, now=9), Left(1, 9), Left(0, 2), Pushed(0, 4, now=9)):
        policy.step(event)
    assert seen == [("joined", 0, 0.5), ("pushed", PushId(0, 1, 3), 1.25), ("left", 0, 2.0)]


def test_releases_in_any_order_and_kind_come_out_in_order():
    class Sets(own.BSP):
        def make_barrier(self):
            decision = super().make_barrier()
            decision.release = set(decision.release)
            return decision

    check_contract(Sets)
    policy = Sets()
    for worker in (2, 0, 1):
        policy.step(Joined(worker))
    for worker in (1, 2, 0):
        decision = policy.step(Pushed(worker, 0))
    assert decision.release == [0, 1, 2]


def test_the_base_class_wants_no_call():
    class NoSuper(own.ASP):
        def __init__(self, bound):
            self.bound = bound

        @property
        def spec(self):
            return f"mine:{self.bound}"

    assert NoSuper(3).spec == "mine:3" and repr(NoSuper(3)) == "<policy mine:3>"
    assert NoSuper(3).step(Joined(0)).release == [0]
    check_contract(lambda: NoSuper(2), events=200)


def test_a_spec_that_fails_or_is_none():
    class Nameless(own.ASP):
        spec = ""

    assert "spelling" in breach(Nameless)

    class Fails(own.ASP):
        @property
        def spec(self):
            raise KeyError("name")

    with pytest.raises(KeyError):
        check_contract(Fails)
