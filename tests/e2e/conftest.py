"""Runs of `paceline train` as real processes, to be watched, stopped and killed.

Nothing here waits for a length of time: it waits for something to be seen in the run's files, with
a deadline far above what it takes.
"""

import contextlib
import gzip
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("BUILD_BIN", ROOT / "build/release/bin"))
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
DEADLINE = 180.0  # seconds; machines that test are busy

CONFIG = """
[model]
name = "mlp"
[data]
path = "{data}"
[train]
samples = 1920
batch_size = 8
eval_every_samples = 960
[optimizer]
lr = 0.05
[cluster]
workers = 3
servers = 2
"""


def wait_for(what, look, deadline=DEADLINE):
    """The first truthy value of look(); fails with the words in `what` after the deadline."""
    end = time.monotonic() + deadline
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > end:
            pytest.fail(f"waited {deadline:.0f} s for {what}")
        select.select([], [], [], 0.02)


def processes_of(folder):
    """Pids of living processes that name this folder in their arguments."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            # A zombie has no arguments any more.
            if str(folder).encode() in words and int(entry.name) != os.getpid():
                found.append(int(entry.name))
    return found


class Run:
    """One `paceline train --json`."""

    def __init__(self, base, data, sync="bsp", wrap=(), **settings):
        self.base = base
        base.mkdir(parents=True, exist_ok=True)
        (base / "run.toml").write_text(CONFIG.format(data=data))
        settings.setdefault("run.dir", str(base / "runs"))
        command = [*wrap, str(BIN / "paceline"), "train", str(base / "run.toml"), "--json"]
        command += ["--sync", sync]
        for key, value in settings.items():
            command += ["--set", f"{key.replace('__', '.')}={value}"]
        self.runs = base / "runs"
        self.stdout = (base / "stdout").open("w+")
        self.stderr = (base / "stderr").open("w+")
        self.process = subprocess.Popen(command, stdout=self.stdout, stderr=self.stderr,
                                        stdin=subprocess.DEVNULL, start_new_session=True)

    # ---- what it shows while it runs ----

    def folder(self):
        def look():
            folders = [p for p in self.runs.glob("*") if p.is_dir() and not p.is_symlink()]
            if not folders:
                self.must_live()
            return folders[0] if folders else None

        return wait_for("the run's folder", look)

    def _listing(self):
        path = self.folder() / "processes.json"

        def look():
            if not path.exists():
                self.must_live()
            return path.exists()

        wait_for("processes.json", look)
        return json.loads(path.read_text())

    def pid(self, role, rank=0):
        for process in self._listing()["processes"]:
            if (process["role"], process["rank"]) == (role, rank):
                return process["pid"]
        raise KeyError((role, rank))

    def seconds_of(self, monotonic_ns):
        """A moment of time.monotonic_ns() on the clock of decisions.jsonl."""
        return (monotonic_ns - self._listing()["epoch_nanoseconds"]) * 1e-9

    def decisions(self):
        path = self.folder() / "decisions.jsonl"
        text = path.read_text() if path.exists() else ""
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def wait_for_pushes(self, count):
        def look():
            self.must_live()
            return sum(1 for d in self.decisions() if d["event"] == "pushed") >= count

        wait_for(f"{count} pushes", look)

    def log(self, role, rank=0):
        path = self.folder() / "logs" / f"{role}-{rank}.log"
        return path.read_text() if path.exists() else ""

    def address(self, role, rank=0):
        """Where that process says that it listens."""
        def look():
            self.must_live()
            for line in self.log(role, rank).splitlines():
                if "listening at " in line:
                    return line.split("listening at ")[1].strip()
            return None

        return wait_for(f"the address of {role} {rank}", look)

    def must_live(self):
        if self.process.poll() not in (None, 0):
            pytest.fail(f"ended with {self.process.returncode}:\n{self.errors()}\n{self.logs()}")

    # ---- the end ----

    def end(self, deadline=DEADLINE):
        try:
            code = self.process.wait(deadline)
        except subprocess.TimeoutExpired:
            logs = self.logs()
            self.process.kill()
            pytest.fail(f"still there after {deadline:.0f} s:\n{self.errors()}\n{logs}")
        return code

    def output(self):
        self.stdout.seek(0)
        return self.stdout.read()

    def errors(self):
        self.stderr.seek(0)
        return self.stderr.read()

    def logs(self):
        paths = sorted(self.runs.glob("*/logs/*.log"))
        return "\n".join(f"--- {p.name}\n{p.read_text()[-2000:]}" for p in paths)

    def summary(self):
        return json.loads((self.folder() / "summary.json").read_text())

    def finish(self):
        """Ends well; returns the summary."""
        code = self.end()
        assert code == 0, self.errors() + self.logs()
        summary = json.loads(self.output())
        assert summary == self.summary()
        return summary

    def left_over(self):
        return processes_of(self.folder())

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.stdout.close()
        self.stderr.close()


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Fashion-MNIST unpacked: unpacking it in every process takes longer than the runs."""
    folder = tmp_path_factory.mktemp("data")
    for path in FASHION.glob("*.gz"):
        with gzip.open(path) as source, (folder / path.stem).open("wb") as target:
            shutil.copyfileobj(source, target)
    return folder


@pytest.fixture
def train(tmp_path, data):
    """train(sync=..., cluster__workers=..., ...) starts a run; what is left of it is killed."""
    runs = []

    def start(sync="bsp", **settings):
        run = Run(tmp_path / str(len(runs)), settings.pop("data", data), sync, **settings)
        runs.append(run)
        return run

    yield start
    for run in runs:
        run.close()


def send(run, number=signal.SIGINT):
    run.process.send_signal(number)
