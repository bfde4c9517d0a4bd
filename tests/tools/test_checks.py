"""The checks of tools/ find what they are for, and the tree passes them."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(tool, *arguments):
    return subprocess.run(
        [sys.executable, ROOT / "tools" / tool, *map(str, arguments)],
        capture_output=True, text=True, check=False,
    )


def plant(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_tree_keeps_its_layers():
    result = run("check_layers.py")
    assert result.returncode == 0, result.stdout


def test_a_sibling_torch_and_an_upward_include_are_found(tmp_path):
    plant(tmp_path, "paceline/sync/a.h", '#include "paceline/optim/optimizer.h"\n')
    plant(tmp_path, "paceline/base/b.h", '#include "paceline/roles/io.h"\n')
    plant(tmp_path, "paceline/node/c.cc", "#include <torch/torch.h>\n")
    plant(tmp_path, "paceline/train/d.cc", "#include <fmt/format.h>\n")
    plant(tmp_path, "paceline/misc/e.cc", "\n")
    result = run("check_layers.py", tmp_path)
    assert result.returncode == 1
    assert len(result.stdout.splitlines()) == 5, result.stdout


def test_every_test_of_the_tree_is_run():
    result = run("check_tests.py")
    assert result.returncode == 0, result.stdout


def test_a_test_that_nothing_names_is_found(tmp_path):
    plant(tmp_path, "paceline/sync/CMakeLists.txt", "paceline_module(sync TESTS b_test.cc)\n")
    plant(tmp_path, "paceline/sync/a_test.cc", "")
    plant(tmp_path, "paceline/sync/b_test.cc", "TEST(X, DISABLED_" + "Y) {}\n")
    plant(tmp_path, "tests/e2e/test_a.py", "")
    result = run("check_tests.py", tmp_path)
    assert result.returncode == 1
    assert len(result.stdout.splitlines()) == 3, result.stdout


def test_an_impure_symbol_is_found(tmp_path):
    archive = tmp_path / "paceline" / "sync" / "libpaceline_sync.a"
    plant(tmp_path, "a.cc", "#include <chrono>\nlong t() { return "
          "std::chrono::steady_clock::now().time_since_epoch().count(); }\n")
    archive.parent.mkdir(parents=True)
    subprocess.run(["g++", "-c", tmp_path / "a.cc", "-o", tmp_path / "a.o"], check=True)
    subprocess.run(["ar", "rcs", archive, tmp_path / "a.o"], check=True)
    result = run("check_purity.py", tmp_path)
    assert result.returncode == 1
    assert "steady_clock::now" in result.stdout


def test_purity_of_nothing_is_an_error(tmp_path):
    assert run("check_purity.py", tmp_path).returncode == 2
