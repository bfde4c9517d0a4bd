"""A project outside the tree finds an installed Paceline and trains its own model with it."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD_DIR", ROOT / "build" / "release"))


def run(*command, cwd=None):
    result = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f"{command}\n{result.stdout[-4000:]}\n{result.stderr[-4000:]}"
    return result.stdout


def test_a_project_of_its_own_trains_its_own_model(tmp_path):
    prefix = tmp_path / "prefix"
    run("cmake", "--install", BUILD, "--prefix", prefix)

    project = tmp_path / "own_model"
    project.mkdir()
    for path in sorted((ROOT / "examples" / "own_model").iterdir()):
        if path.is_file():
            (project / path.name).write_text(path.read_text())
    run("cmake", "-G", "Ninja", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}", cwd=project)
    run("cmake", "--build", "build", cwd=project)

    output = run(
        prefix / "bin" / "paceline", "train", "run.toml", "--json",
        "--set", "train.samples=60000", "--set", f"run.dir={tmp_path / 'runs'}", cwd=project,
    )
    summary = json.loads(output)
    assert summary["exit"] == "ok"
    assert summary["test_accuracy"] > 0.9
    assert summary["model"].endswith("my_worker")


def test_a_project_of_its_own_brings_its_own_policy(tmp_path):
    prefix = tmp_path / "prefix"
    run("cmake", "--install", BUILD, "--prefix", prefix)
    run("cmake", "-G", "Ninja", "-S", ROOT / "examples" / "policies", "-B", tmp_path / "own",
        f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path / "own")
    assert "the contract is kept" in run(tmp_path / "own" / "try_backup")


def test_the_installed_headers_stand_alone(tmp_path):
    """What is installed compiles without the tree: the umbrella of the part without LibTorch."""
    prefix = tmp_path / "prefix"
    run("cmake", "--install", BUILD, "--prefix", prefix)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(Small LANGUAGES CXX)\n"
        "set(CMAKE_CXX_STANDARD 20)\nfind_package(Paceline REQUIRED)\n"
        "add_executable(small small.cc)\ntarget_link_libraries(small PRIVATE Paceline::paceline)\n"
    )
    (tmp_path / "small.cc").write_text(
        '#include <iostream>\n#include "paceline/sync/registry.h"\n'
        "int main() {\n"
        '  const auto policy = paceline::sync::make_policy("ssp:3");\n'
        "  if (!policy) return 1;\n"
        "  const auto decision =\n"
        "      (*policy)->step({{}, paceline::sync::Joined{paceline::WorkerId{0}}});\n"
        "  std::cout << (*policy)->spec() << ' ' << decision.release.size() << '\\n';\n"
        "}\n"
    )
    run("cmake", "-G", "Ninja", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}", cwd=tmp_path)
    run("cmake", "--build", "build", cwd=tmp_path)
    assert run(tmp_path / "build" / "small") == "ssp:3 1\n"
