"""Plants bugs in one module of paceline/, one at a time, and sees whether its tests find them.

Works on a copy in a temporary folder (or the one named with --dir, kept for the next call). Each bug
is one replacement in one file. A bug is found if the module's tests fail, or do not end. Those that
no test can find because they change nothing are not in the lists.
"""

import argparse
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(Planted LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_EXTENSIONS OFF)
set(PACELINE_SANITIZE "" CACHE STRING "")
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_SOURCE_DIR}/cmake)
include(CTest)
include(GNUInstallDirs)
include(paceline_build)
"""


class Module:
    def __init__(self, tree, modules, data):
        self.tree, self.modules, self.data = tree, modules, data
        self.name = modules[-1]

    def copy(self):
        parts = ["cmake", *(f"paceline/{module}" for module in self.modules), *self.data]
        for part in parts:
            # With new times, else the build would keep what it made of the bug before.
            shutil.copytree(ROOT / part, self.tree / part, dirs_exist_ok=True, copy_function=shutil.copy)
        folders = "".join(f"add_subdirectory(paceline/{module})\n" for module in self.modules)
        (self.tree / "CMakeLists.txt").write_text(CMAKE + folders)
        subprocess.run(["cmake", "-G", "Ninja", "-S", self.tree, "-B", self.tree / "build",
                        "-DCMAKE_CXX_FLAGS=-O1 -w"], check=True, capture_output=True)

    def build(self):
        done = subprocess.run(["cmake", "--build", self.tree / "build", "--target",
                               f"{self.name}_test", "-j2"], capture_output=True, text=True, check=False)
        return done.returncode == 0, done.stdout

    def test(self):
        program = self.tree / f"build/paceline/{self.name}/{self.name}_test"
        try:
            done = subprocess.run([program, "--gtest_brief=1", "--gtest_fail_fast"],
                                  capture_output=True, text=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            return "does not end"
        if done.returncode == 0:
            return ""
        failed = [line.split()[3].rstrip(",") for line in done.stdout.splitlines()
                  if line.startswith("[  FAILED  ]") and len(line.split()) > 3]
        return failed[0] if failed else f"aborts ({done.returncode})"

    def plant(self, name, old, new):
        """By which test the bug is found; empty: by none."""
        path = self.tree / "paceline" / self.name / name
        right = path.read_text()
        shown = f"{name}: {' '.join(old.split())[:60]} -> {' '.join(new.split())[:50] or 'nothing'}"
        if right.count(old) != 1:
            print(f"STALE   {shown}: stands there {right.count(old)} times", flush=True)
            return ""
        path.write_text(right.replace(old, new))
        built, _ = self.build()
        by = self.test() if built else "the compiler"
        path.write_text(right)
        print(f"{'found  ' if by else 'MISSED '} {shown}" + (f"  [{by}]" if by else ""), flush=True)
        return by


def main(doc, bugs, modules, data=()):
    """bugs: (file, what stands there once, what a slip would make of it), files in modules[-1].
    modules: folders of paceline/ in the order in which they are built; data: what tests read."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--only", default="", help="bugs whose file or text has this word")
    parser.add_argument("--dir", help="work here and leave it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        module = Module(pathlib.Path(arguments.dir or temporary), modules, data)
        module.copy()
        built, output = module.build()
        if not built or module.test():
            print(output[-2000:], "\nthe tree as it is does not pass its tests", sep="")
            return 1
        planted = [bug for bug in bugs if any(arguments.only in part for part in bug)]
        found = sum(bool(module.plant(*bug)) for bug in planted)
        print(f"{found} of {len(planted)} planted bugs found")
        return 0 if found == len(planted) else 1
