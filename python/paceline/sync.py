"""Sync policies: when may a worker go on, and which gradients are applied?

A policy is a state machine. It is told events (somebody joined, pushed or left) and answers each
with a decision. The same events give the same decisions, live and simulated. Times are seconds
since the run began.

>>> policy = make_policy("ssp:1")
>>> print(policy.step(Joined(0)))
release 0
>>> print(policy.step(Pushed(0, step=0, now=1.5)))
apply 0#0; release 0
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Union

from paceline import _paceline

__all__ = [
    "Decision",
    "Event",
    "Joined",
    "Left",
    "Policy",
    "PolicyEntry",
    "PushId",
    "Pushed",
    "Superstep",
    "SyncPolicy",
    "check_contract",
    "make_policy",
    "policies",
    "split_policies",
    "zipline",
]


class PushId(NamedTuple):
    """The identity of one gradient. They are ordered by worker, life and step: rank order."""

    worker: int
    incarnation: int
    step: int


@dataclass(frozen=True)
class Joined:
    """A worker comes in, or comes back."""

    worker: int
    now: float = 0.0

    def __str__(self) -> str:
        return _paceline.event_text(*_told(self))


@dataclass(frozen=True)
class Pushed:
    """Every server holds that gradient. One push a release: a second one is ignored."""

    worker: int
    step: int
    incarnation: int = 1
    now: float = 0.0

    @property
    def push(self) -> PushId:
        return PushId(self.worker, self.incarnation, self.step)

    def __str__(self) -> str:
        return _paceline.event_text(*_told(self))


@dataclass(frozen=True)
class Left:
    """A worker is gone, or has no more data. A push of it that is complete still counts."""

    worker: int
    now: float = 0.0

    def __str__(self) -> str:
        return _paceline.event_text(*_told(self))


Event = Union[Joined, Pushed, Left]


@dataclass
class Decision:
    """What must be done now, in this order.

    Parameters
    ----------
    apply : list of lists of PushId
        The updates: each becomes the next version. One push alone, or the mean of several, which
        stand in rank order: ``apply=[sorted(pushes)]``.
    drop : list of PushId
        Never applied; their workers are told.
    release : list of int
        The workers that may start their next step, from the version just made.
    reason : str
        Why, for people. Empty means that nothing was decided.
    """

    apply: list[list[PushId]] = field(default_factory=list)
    drop: list[PushId] = field(default_factory=list)
    release: list[int] = field(default_factory=list)
    reason: str = ""

    def __str__(self) -> str:
        """As the transcripts write it: "apply 0#0+1#0; release 0 1"."""
        return _paceline.decision_text((self.apply, self.drop, self.release, self.reason))


def _told(event: Event) -> tuple[str, tuple[int, int, int], float]:
    if isinstance(event, Pushed):
        return "pushed", event.push, event.now
    if isinstance(event, Joined):
        return "joined", (event.worker, 0, 0), event.now
    if isinstance(event, Left):
        return "left", (event.worker, 0, 0), event.now
    raise TypeError(f"{event!r} is no event; give a Joined, Pushed or Left")


class SyncPolicy:
    """A policy that can be told events. `make_policy` gives the library's own."""

    _machine: Any

    def __init__(self, machine: Any) -> None:
        self._machine = machine

    @property
    def spec(self) -> str:
        """Its spelling, as `make_policy` reads it: "ssp:3"."""
        return str(self._machine.spec)

    def step(self, event: Event) -> Decision:
        """Tells the policy of an event.

        Any event may come at any time; one that makes no sense (a push of a worker that is not in,
        a second join) changes nothing and gives an empty decision.

        Raises
        ------
        ContractError
            If a policy of one's own decides what no policy may.
        """
        apply, drop, release, reason = self._machine.step(*_told(event))
        return Decision(
            [[PushId(*push) for push in pushes] for pushes in apply],
            [PushId(*push) for push in drop],
            release,
            reason,
        )

    def __repr__(self) -> str:
        return f"<policy {self.spec}>"


class Policy(SyncPolicy):
    """A policy of your own: derive from it and write `joined`, `pushed` and `left`.

    They see only events that make sense: a worker joins that is not in, pushes what it was released
    for, leaves if it is in. Each gives a `Decision` with a reason. What the decisions must keep to
    is asked by `check_contract`.

    `spec` is the name in comparisons; without one it is the name of the class.

    Examples
    --------
    >>> class Never(Policy):
    ...     "Nobody ever waits."
    ...     def joined(self, worker, now):
    ...         return Decision(release=[worker], reason=f"worker {worker} joins")
    ...     def pushed(self, push, now):
    ...         return Decision(apply=[[push]], release=[push.worker], reason="goes on")
    ...     def left(self, worker, now):
    ...         return Decision(reason=f"worker {worker} left")
    >>> check_contract(Never)
    """

    # Not SyncPolicy's: a derived class need not call super().__init__().
    def __init__(self) -> None:
        pass

    @property
    def spec(self) -> str:
        return type(self).__name__

    def joined(self, worker: int, now: float) -> Decision:
        """The worker comes in, or comes back."""
        raise NotImplementedError(f"{type(self).__name__} has no joined(self, worker, now)")

    def pushed(self, push: PushId, now: float) -> Decision:
        """A released worker's gradient is there. From here on the worker waits to be released."""
        raise NotImplementedError(f"{type(self).__name__} has no pushed(self, push, now)")

    def left(self, worker: int, now: float) -> Decision:
        """The worker is gone. It must not be waited for; its pushes still count."""
        raise NotImplementedError(f"{type(self).__name__} has no left(self, worker, now)")

    def step(self, event: Event) -> Decision:
        if "_machine" not in self.__dict__:
            # Weak: the machine is the policy's own, and should go with it.
            self._machine = _paceline.adopt(weakref.proxy(self))
        return super().step(event)

    # What the extension calls.

    def _joined(self, worker: int, now: float) -> tuple[Any, ...]:
        return self._answer("joined", self.joined(worker, now))

    def _pushed(self, worker: int, incarnation: int, step: int, now: float) -> tuple[Any, ...]:
        return self._answer("pushed", self.pushed(PushId(worker, incarnation, step), now))

    def _left(self, worker: int, now: float) -> tuple[Any, ...]:
        return self._answer("left", self.left(worker, now))

    def _answer(self, method: str, decision: object) -> tuple[Any, ...]:
        who = f"{type(self).__name__}.{method}()"
        if not isinstance(decision, Decision):
            raise TypeError(f"{who} returned {decision!r}; it must return a paceline.sync.Decision")
        if not isinstance(decision.reason, str):
            raise TypeError(f"{who}: reason is {decision.reason!r}; it must be a str")
        updates = _items(who, "apply", decision.apply, "lists of PushId")
        return (
            [_pushes(who, f"apply[{i}]", update) for i, update in enumerate(updates)],
            _pushes(who, "drop", decision.drop),
            [_worker(who, w) for w in _items(who, "release", decision.release, "workers' ids")],
            decision.reason,
        )


def _items(who: str, name: str, value: Any, what: str) -> Iterable[Any]:
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, PushId)):
        return value
    raise TypeError(f"{who}: {name} is {value!r}; it must be a list of {what}")


def _pushes(who: str, name: str, value: Any) -> list[PushId]:
    if name != "drop" and isinstance(value, PushId):
        raise TypeError(f"{who}: {name} is a PushId; an update is a list of them: apply=[[push]]")
    pushes = list(_items(who, name, value, "PushId"))
    for push in pushes:
        if not (isinstance(push, PushId) and all(map(_is_number, push, _PUSH_BITS))):
            raise TypeError(f"{who}: {name} holds {push!r}; it must hold PushId")
    return pushes


_PUSH_BITS = (32, 64, 64)


def _is_number(value: Any, bits: int) -> bool:
    return isinstance(value, int) and 0 <= value < 1 << bits


def _worker(who: str, value: Any) -> int:
    try:
        worker = operator.index(value)
    except TypeError:
        worker = -1
    if not 0 <= worker < 2**32:
        raise TypeError(f"{who}: release holds {value!r}; it must hold workers' ids, as push.worker")
    return worker


def _factory(policy: str | Callable[[], SyncPolicy]) -> Callable[[], str | Policy]:
    """What the extension calls for a fresh policy: gives a spelling or a `Policy`."""
    if isinstance(policy, str):
        return lambda: policy
    if not callable(policy):
        raise TypeError(
            f"{policy!r} is no way to make a policy; give a spelling ('ssp:3'), a class derived "
            "from paceline.sync.Policy, or a function that makes one (lambda: MyPolicy(2)): each "
            "run needs a fresh one"
        )

    def make() -> str | Policy:
        made = policy()
        if isinstance(made, Policy):
            if "_used" in made.__dict__ or "_machine" in made.__dict__:
                raise ValueError(f"{policy!r} gave a policy that was used before; make a fresh one")
            made.__dict__["_used"] = True
            return made
        if isinstance(made, SyncPolicy):
            return made.spec
        raise TypeError(f"{policy!r} made {made!r}; it must make a paceline.sync.Policy")

    return make


def check_contract(
    policy: str | Callable[[], SyncPolicy], *, seed: int = 1, events: int = 20_000
) -> None:
    """Holds a policy to what every policy promises, by random conversations.

    An event that makes no sense changes nothing; each push is applied or dropped once; who is
    released is in and waits; nobody waits for ever; the same events give the same decisions.

    Parameters
    ----------
    policy : class, function that makes a policy, or spelling
        It is called for a fresh policy a few times for each conversation.
    seed : int
        The same seed asks the same.
    events : int
        About so many are told in all.

    Raises
    ------
    ContractError
        With what is broken, and the shortest conversation found that shows it.
    """
    _paceline.check_contract(_factory(policy), seed, events)


def make_policy(spec: str) -> SyncPolicy:
    """A policy of the library by its spelling: "bsp", "ssp:3", "elastic_bsp:15,predictor=last".

    Raises
    ------
    InvalidArgument
        With what is allowed, and the nearest known name.
    """
    return SyncPolicy(_paceline.adopt(spec))


class PolicyEntry(NamedTuple):
    """One policy of the library."""

    name: str
    spec: str
    example: str
    doc: str
    source: str
    file: str


def policies() -> list[PolicyEntry]:
    """The policies of the library."""
    return [PolicyEntry(**entry) for entry in _paceline.policies()]


def split_policies(text: str) -> list[str]:
    """"bsp,elastic_bsp:15,predictor=last,ssp:3" as a list of three."""
    return list(_paceline.split_policies(text))


class Superstep(NamedTuple):
    """A barrier: when the last worker arrives, how long the first waits, all together, and the
    steps (from 1) that each makes."""

    barrier: float
    wait: float
    total_wait: float
    index: list[int]


def zipline(rows: Sequence[Sequence[float]]) -> Superstep:
    """The barrier at which the first worker waits least.

    Parameters
    ----------
    rows : a list of rows, or a NumPy array [n, R]
        For each of n workers the times at which its steps are predicted to end, strictly rising;
        rows may differ in length. A float64 array is not copied.

    Raises
    ------
    InvalidArgument
        Naming row and column.

    Examples
    --------
    >>> zipline([[1.0, 2.0, 3.0], [2.9, 5.8]])
    Superstep(barrier=3.0, wait=0.10000000000000009, total_wait=0.10000000000000009, index=[3, 1])

    References
    ----------
    Zhao et al., "Elastic Bulk Synchronous Parallel Model for Distributed Deep Learning", ICDM 2019.
    """
    try:
        return Superstep(*_paceline.zipline(rows))
    except TypeError:
        raise TypeError(f"rows is {rows!r}; it must be a list of lists of numbers") from None
