"""What the docs say of the program is what the program says, and the commands in them work."""

import os
import re
import runpy
import shlex
import subprocess

import paceline_docs as docs
import pytest

CHEAP = {"policies", "codes", "models", "datasets", "check", "zipline", "--help", "--version"}


@pytest.mark.parametrize("page", docs.GENERATED)
def test_generated_tables_are_up_to_date(page):
    assert docs.regenerated(page) == (docs.ROOT / page).read_text(), \
        "run tests/docs/generate.py and read the diff"


def test_each_file_of_the_policies_exists():
    assert [p["file"] for p in docs.policies() if not (docs.ROOT / p["file"]).is_file()] == []


# ---- commands ----


def commands():
    """(page, command, what it prints or None) of every block for a shell."""
    found = []
    for page in docs.pages():
        name = str(page.relative_to(docs.ROOT))
        text = page.read_text()
        for block in docs.blocks(text, "sh"):
            found += [(name, line, None) for line in block.splitlines() if line.strip()]
        for block in docs.blocks(text, "console"):
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, output = part.partition("\n")
                found.append((name, command, output))
    return found


def subcommand(command):
    """`check` of "printf 1 | paceline check ..."; None if paceline is not in it."""
    match = re.search(r"(?:^|[|;&] *)(?:build/release/bin/)?paceline(?:$|\s+(\S+))", command)
    return (match.group(1) or "--help") if match else None


def shown(text):
    """Without what differs from call to call."""
    text = re.sub(r"[\d.e-]+ ms\b", "T ms", text)
    return re.sub(r'"compute_seconds": [\d.e-]+', '"compute_seconds": T', text).strip()


ALL = commands()
OURS = [c for c in ALL if subcommand(c[1])]
RUN = [c for c in OURS if subcommand(c[1]) in CHEAP]


def test_there_are_commands_to_test():
    assert len(RUN) > 10 and len(OURS) > len(RUN)


@pytest.mark.parametrize("page, command, output", RUN, ids=[f"{p}: {c}" for p, c, _ in RUN])
def test_cheap_commands_work_as_shown(page, command, output):
    environment = {**os.environ, "PATH": f"{docs.BIN}:{os.environ['PATH']}"}
    folder = docs.ROOT / os.path.dirname(page) if page.startswith("examples") else docs.ROOT
    run = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True,
                         text=True, check=False, timeout=60)
    assert run.returncode == 0, run.stderr
    if output is not None:
        assert shown(run.stdout) == shown(output)


def options_of(command):
    return set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", docs.paceline(command, "--help"))) | \
        set(re.findall(r"-[a-z],(--[a-z-]+)", docs.paceline(command, "--help")))


@pytest.mark.parametrize("page, command, output", OURS, ids=[f"{p}: {c}" for p, c, _ in OURS])
def test_commands_and_options_exist(page, command, output):
    words = shlex.split(command.partition("#")[0], posix=True)
    at = next(i for i, word in enumerate(words) if word.split("/")[-1] == "paceline")
    rest = []
    for word in words[at + 1:]:
        if word in {"|", ";", "&&"}:
            break
        rest.append(word.rstrip(";"))
    if not rest or rest[0].startswith("--"):
        return
    known = options_of(rest[0])
    given = {word.split("=")[0] for word in rest[1:] if re.match(r"--?[a-z]", word)}
    assert given <= known, f"{given - known} of {known}"


def help_commands():
    text = docs.paceline("--help")
    return re.findall(r"^  (\w+) {2,}", text.split("Commands:")[1].split("Options:")[0], re.M)


@pytest.mark.parametrize("command", help_commands())
def test_cli_page_has_each_command_with_each_option(command):
    page = (docs.ROOT / "docs/reference/cli.md").read_text()
    sections = re.split(r"^## ", page, flags=re.M)
    section = next((s for s in sections if s.startswith(command + "\n")), None)
    assert section, f"cli.md has no section {command}"
    described = re.findall(r"^\| (`.*?) \||Options?: (.*)", section, re.M)
    words = set(re.findall(r"--?[a-z][a-z-]*", " ".join(a + b for a, b in described)))
    assert words == options_of(command) - {"-h", "--help"}
    assert f"paceline {command}" in section


def test_exit_codes_are_those_of_the_program():
    source = (docs.ROOT / "paceline/node/summary.cc").read_text()
    named = dict(re.findall(r'case (\d+):\s+return "(\w+)";', source))
    page = (docs.ROOT / "docs/reference/cli.md").read_text()
    table = page.split("## Exit codes")[1].split("## ")[0]
    listed = set(re.findall(r"^\| (\d+) \|", table, re.M))
    assert listed == set(named) | {"1"}
    json_page = (docs.ROOT / "docs/reference/json.md").read_text()
    row = next(line for line in json_page.splitlines() if line.startswith("| `exit` |"))
    assert set(re.findall(r"`(\w+)`", row)) == {*named.values(), "bug", "exit"}


# ---- README ----


def test_the_worker_in_readme_is_the_example():
    readme = (docs.ROOT / "README.md").read_text()
    assert docs.blocks(readme, "cpp") == [(docs.ROOT / "examples/own_model/worker.cc").read_text()]


def test_counts_in_readme(monkeypatch):
    monkeypatch.syspath_prepend(str(docs.ROOT / "tests/planted"))
    readme = (docs.ROOT / "README.md").read_text()
    planted = sum(len(runpy.run_path(str(path), run_name="counted").get("BUGS", []))
                  for path in (docs.ROOT / "tests/planted").glob("*.py"))
    claimed = int(re.search(r"more than (\d+) planted bugs", readme).group(1))
    assert planted > claimed, f"there are {planted}"
    assert "kLists = 10'000;" in (docs.ROOT / "paceline/sync/oracle_test.cc").read_text()
    assert "10,000 random lists" in readme
