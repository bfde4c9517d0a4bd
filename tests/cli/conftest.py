import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

PACELINE = Path(os.environ["BUILD_BIN"]) / "paceline"


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self):
        """Standard output as exactly one JSON value: no NaN, nothing before or after."""

        def refuse(word):
            raise AssertionError(f"{word} is no JSON")

        return json.loads(self.out, parse_constant=refuse)


@pytest.fixture
def paceline(tmp_path):
    """Runs the program in an empty folder."""

    def run(*words, stdin="", env=None):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PACELINE_")}
        done = subprocess.run(
            [PACELINE, *map(str, words)], cwd=tmp_path, input=stdin, text=True,
            capture_output=True, timeout=60, env=clean | (env or {}))
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def refused(paceline):
    """Runs what must fail, plain and with --json, and returns the error object."""

    def run(code, *words, **more):
        plain = paceline(*words, **more)
        assert plain.code == code, plain
        assert plain.err.startswith("paceline: ") and plain.err.count("\n") == 1, plain.err
        done = paceline(*words, "--json", **more)
        assert done.code == code
        assert set(done.json) == {"error"}
        error = done.json["error"]
        assert list(error) == ["code", "where", "what", "fix"]
        assert error["code"] == code
        assert error["what"] in plain.err
        assert error["fix"], "an error says what to do"
        return error

    return run
