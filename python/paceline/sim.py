"""The laboratory: which policy suits my cluster? Compared in virtual time, on real roles.

>>> result = compare(cluster("one_slow_of_eight"), ["bsp", "asp"], steps=20)
>>> result["asp"].steps_per_second > result["bsp"].steps_per_second
True
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Union

from paceline import _paceline
from paceline.errors import InvalidArgument, NotFound
from paceline.sync import SyncPolicy, _factory

__all__ = ["Cluster", "Comparison", "PolicyOutcome", "cluster", "compare", "profiles"]

Cluster = _paceline.Cluster
Candidate = Union[str, Callable[[], SyncPolicy]]


def profiles() -> list[Cluster]:
    """The ready clusters."""
    return list(_paceline.profiles())


def cluster(source: str | os.PathLike[str] | Mapping[str, Any] | int) -> Cluster:
    """A cluster by the name of a profile, from a file, from a dict as such a file holds it, or so
    many equal workers.

    Parameters
    ----------
    source : str, path, dict or int
        A profile's name; a cluster file (.json), a matrix of published end times, a run's
        decisions.jsonl or the run's folder; a dict; a number of workers.

    Raises
    ------
    InvalidArgument
        Naming line and field.
    NotFound
        If there is no such profile or file.
    """
    if isinstance(source, bool) or not isinstance(source, (str, os.PathLike, Mapping, int)):
        raise TypeError(f"{source!r} is no cluster; give a name, a path, a dict or a number")
    if isinstance(source, int):
        if not 1 <= source <= 1_000_000:
            raise InvalidArgument(f"{source} workers are not possible", "1 to 1000000")
        return _paceline.equal_cluster(source)
    if isinstance(source, Mapping):
        return _paceline.parse_cluster(json.dumps(source, indent=2), "cluster")
    for profile in profiles():
        if profile.name == source:
            return profile
    return _cluster_of_file(Path(source))


def _cluster_of_file(path: Path) -> Cluster:
    if not path.exists():
        names = ", ".join(profile.name for profile in profiles())
        raise NotFound(
            f"there is no cluster and no file '{path}'", f"the profiles are {names}"
        )
    if path.is_dir():
        path = path / "decisions.jsonl"
    text = path.read_text()
    if path.suffix == ".jsonl":
        return _paceline.cluster_of_run(text, str(path))
    if path.suffix == ".json" or text.lstrip().startswith("{"):
        return _paceline.parse_cluster(text, str(path))
    return _paceline.parse_end_times(text, str(path))


@dataclass(frozen=True)
class PolicyOutcome:
    """How one policy did: means over the seeds.

    The names and units are those of ``paceline sim --json``; `spread` has the lowest and highest of
    the seeds for some of them, `by_seed` each seed's own.
    """

    policy: str
    seconds: float
    pushes: float
    steps_per_second: float
    wait_share_mean: float
    clock_gap_max: float
    barriers: float
    failures: float
    test_accuracy: float | None
    seconds_to_target: float | None
    steps: list[float]
    wait_share: list[float]
    staleness: dict[str, float]
    bytes: dict[str, float]
    server_queue: dict[str, float]
    events: float
    events_per_second: float
    compute_seconds: float
    spread: dict[str, Any]
    by_seed: list[dict[str, Any]]
    decisions_sha256: str | None


class Comparison:
    """What `compare` gives: the policies in the order in which they were asked for.

    Attributes
    ----------
    cluster : str
    workers, servers, seed, seeds : int
    policies : list of PolicyOutcome
    """

    def __init__(self, result: Any) -> None:
        self._result = result
        self._dict: dict[str, Any] = json.loads(result.json)
        names = {field.name for field in fields(PolicyOutcome)}
        self.policies = [
            PolicyOutcome(**{key: value for key, value in policy.items() if key in names})
            for policy in self._dict["policies"]
        ]
        self.cluster: str = self._dict["cluster"]
        self.workers: int = self._dict["workers"]
        self.servers: int = self._dict["servers"]
        self.seed: int = self._dict["seed"]
        self.seeds: int = self._dict["seeds"]

    def to_dict(self) -> dict[str, Any]:
        """In the shape of ``paceline sim --json``."""
        return json.loads(self._result.json)

    def __getitem__(self, policy: str) -> PolicyOutcome:
        for outcome in self.policies:
            if outcome.policy == policy:
                return outcome
        raise KeyError(f"{policy}: there are {', '.join(o.policy for o in self.policies)}")

    def __str__(self) -> str:
        """A line a policy: steps a second as a figure and as a bar, share waiting, staleness."""
        width = max(len("policy"), *(len(outcome.policy) for outcome in self.policies))
        most = max(outcome.steps_per_second for outcome in self.policies)
        lines = [f"{'policy':{width}}  steps/s{'':22}waiting  staleness p50/p95/max"]
        for outcome in self.policies:
            rate = outcome.steps_per_second
            bar = "#" * round(20 * rate / most) if most > 0 else ""
            late = "/".join(f"{outcome.staleness[q]:.0f}" for q in ("p50", "p95", "max"))
            lines.append(
                f"{outcome.policy:{width}}  {rate:7.2f} {bar:20} "
                f"{outcome.wait_share_mean:7.1%}  {late}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        names = ", ".join(outcome.policy for outcome in self.policies)
        return f"<comparison of {names} on {self.cluster}>"


def _check_budget(policies: int, steps: int | None, seconds: float | None, seeds: int) -> None:
    if policies == 0:
        raise InvalidArgument("no policy is named", "name one: ['bsp']")
    if steps is not None and seconds is not None:
        raise InvalidArgument("steps and seconds exclude each other", "leave one of them out")
    if steps is not None and not 1 <= steps <= 2**32:
        raise InvalidArgument(f"{steps} steps are not possible", "1 to 2**32")
    if seconds is not None and not 0 < seconds <= 1e8:
        raise InvalidArgument(f"{seconds} seconds are not possible", "above 0, at most 1e8")
    if not 1 <= seeds <= 1000:
        raise InvalidArgument(f"{seeds} seeds are not possible", "1 to 1000")


def compare(
    cluster: Cluster,
    policies: Sequence[Candidate],
    *,
    steps: int | None = None,
    seconds: float | None = None,
    seeds: int = 1,
    seed: int = 1,
) -> Comparison:
    """The same cluster under several policies, each over several seeds.

    Parameters
    ----------
    cluster : Cluster
    policies : sequence of spellings, classes, or functions that make a policy
        ``["bsp", "ssp:3", MyPolicy, lambda: MyPolicy(2)]``
    steps : int, optional
        The run is over after steps times workers pushes. 1000 if neither is given.
    seconds : float, optional
        Virtual seconds instead.
    seeds, seed : int
        How many, and the first.

    Raises
    ------
    InvalidArgument
        A spelling that is unknown, or no budget.
    ContractError
        If a policy of one's own decides what no policy may. `paceline.sync.check_contract` shows
        the shortest conversation that does.

    Notes
    -----
    What a policy's methods raise comes out as it is. Policies in Python run one after the other and
    at Python's speed; those of the library side by side.
    """
    if isinstance(policies, str) or callable(policies):
        raise TypeError("policies is a list: ['bsp', MyPolicy]")
    if not isinstance(cluster, Cluster):
        raise TypeError(f"{cluster!r} is no cluster; make one by paceline.sim.cluster()")
    _check_budget(len(policies), steps, seconds, seeds)
    if steps is None and seconds is None:
        steps = 1000
    candidates = []
    for policy in policies:
        make = _factory(policy)
        made = make()
        if isinstance(made, str):
            candidates.append((made, None))
        else:
            candidates.append((made.spec, make))
    return Comparison(
        _paceline.compare(cluster, candidates, steps, seconds, seeds, seed)
    )
