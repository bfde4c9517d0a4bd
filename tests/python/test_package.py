"""The package as one meets it: what importing it brings, examples in docstrings, errors, types."""

import doctest
import pathlib
import subprocess
import sys

import paceline
import pytest
from conftest import BUILD
from paceline import errors, sim, sync


def python(code):
    """Its output; nothing may stand on standard error, also not nanobind's word about a leak."""
    run = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(BUILD / "python")},
                         capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def test_importing_loads_neither_torch_nor_numpy():
    loaded = python("import sys, paceline.sync, paceline.sim; print(' '.join(sys.modules))").split()
    assert "paceline._paceline" in loaded
    assert not {"torch", "numpy"} & set(loaded)


def test_the_extension_is_not_linked_with_libtorch():
    extension = next((BUILD / "python/paceline").glob("_paceline*.so"))
    linked = subprocess.run(["ldd", extension], capture_output=True, text=True, check=True).stdout
    assert "torch" not in linked and "c10" not in linked


@pytest.mark.parametrize("module", [sync, sim])
def test_examples_in_docstrings(module):
    done = doctest.testmod(module)
    assert done.attempted > 0 and done.failed == 0


@pytest.mark.parametrize("module", [paceline, errors, sync, sim])
def test_what_is_public_is_there_and_documented(module):
    for name in module.__all__:
        thing = getattr(module, name)
        assert thing.__doc__ or name in {"Event"}, name


def test_it_is_typed():
    package = pathlib.Path(sync.__file__).parent
    assert (package / "py.typed").exists()
    # The stub names what the extension has, and nothing else.
    namespace = {}
    exec((package / "_paceline.pyi").read_text(), namespace)
    stub = {name for name in namespace if not name.startswith("__")} - {
        "annotations", "Callable", "Sequence", "Any"}
    assert stub == {name for name in dir(paceline._paceline) if not name.startswith("__")}


def test_an_error_is_told_as_on_the_command_line():
    with pytest.raises(paceline.InvalidArgument) as caught:
        sync.make_policy("elastic_bps")
    error = caught.value
    assert error.what == "policy 'elastic_bps' is unknown"
    assert error.fix.startswith("did you mean 'elastic_bsp'?")
    assert str(error) == f"{error.what}; {error.fix}"
    assert isinstance(error, ValueError) and isinstance(error, paceline.Error)


def test_nothing_is_left_when_python_ends():
    code = """
import gc, weakref
from paceline import sim, sync
class Mine(sync.Policy):
    def joined(self, worker, now): return sync.Decision(release=[worker], reason="joins")
    def pushed(self, push, now): return sync.Decision([[push]], release=[push.worker], reason="on")
    def left(self, worker, now): return sync.Decision(reason="left")
made = []
def make():
    policy = Mine()
    made.append(weakref.ref(policy))
    return policy
sim.compare(sim.cluster(3), [make, "bsp"], steps=5, seeds=2)
sync.check_contract(make, events=200)
told = make()
told.step(sync.Joined(0))
del told
print(len(made) > 10, sum(policy() is not None for policy in made))
"""
    assert python(code) == "True 0\n"
