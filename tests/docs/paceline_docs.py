"""What the tests of the words and their generator have in common."""

import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("BUILD_BIN", ROOT / "build/release/bin"))
NOT_OURS = {"build", "runs"}


def paceline(*words, check=True):
    run = subprocess.run([BIN / "paceline", *words], cwd=ROOT, capture_output=True, text=True,
                         check=False)
    assert not check or run.returncode == 0, f"paceline {' '.join(words)}: {run.stderr}"
    return run.stdout


def pages():
    """Every page in Markdown, by its path below the root."""
    found = []
    for path in sorted(ROOT.rglob("*.md")):
        parts = path.relative_to(ROOT).parts
        if not any(part in NOT_OURS or part.startswith(".") for part in parts[:-1]):
            found.append(path)
    return found


def blocks(text, *languages):
    """The fenced blocks in one of these languages."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)
    return [content for language, content in fenced if language in languages]


def policies():
    return json.loads(paceline("policies", "--json"))


def in_table(text):
    return text.replace("|", "\\|")


def first_sentence(text):
    return text.split(". ")[0].rstrip(".") + "."


# ---- what is generated: a name, and the lines between its two marks ----


def policies_short():
    """README's table."""
    lines = ["| policy | in one line | paper | file |", "|---|---|---|---|"]
    for p in policies():
        lines.append(f"| `{in_table(p['spec'])}` | {in_table(first_sentence(p['doc']))} | "
                     f"{p['source']} | [{p['file']}]({p['file']}) |")
    return lines


def policies_long():
    lines = []
    for p in policies():
        lines += [f"## {p['name']}", "", p["doc"], "", "| | |", "|---|---|",
                  f"| spelling | `{in_table(p['spec'])}` |", f"| for example | `{p['example']}` |",
                  f"| source | {p['source']} |", f"| file | [{p['file']}](../../{p['file']}) |", ""]
    return lines[:-1]


def keys():
    return paceline("check", "--keys").splitlines()


def told(release, apply, worker):
    """What became of a push: "goes on", "waits, frees 1"."""
    others = [str(other) for other in release if other != worker]
    text = "goes on" if worker in release else "waits"
    text = f"mean of {apply.count('+') + 1}, {text}" if "+" in apply else text
    return f"{text}, frees {', '.join(others)}" if others else text


def two_workers():
    """The transcripts of that name side by side: what each policy answers to each push."""
    columns, cells = [], {}
    for policy in policies():
        path = ROOT / f"tests/transcripts/two_workers_{policy['name']}.txt"
        text = path.read_text()
        columns.append(re.match(r"policy (\S+)", text).group(1))
        for worker, step, at, answer in re.findall(
                r"^push (\d+) step=(\d+) at=(\d+) +-> (.*)$", text, re.M):
            release = [int(w) for w in answer.partition("release ")[2].split()]
            cell = f"#{int(step) + 1} {told(release, answer, int(worker))}"
            cells.setdefault((int(at), int(worker)), {})[columns[-1]] = cell
    lines = ["| at | worker | " + " | ".join(f"`{c}`" for c in columns) + " |",
             "|---|---|" + "---|" * len(columns)]
    for (at, worker), row in sorted(cells.items()):
        lines.append(f"| {at} s | {worker} | " + " | ".join(row.get(c, "") for c in columns) + " |")
    return lines


GENERATED = {
    "README.md": {"policies": policies_short},
    "docs/reference/policies.md": {"policies": policies_long},
    "docs/reference/config.md": {"keys": keys},
    "docs/explanation/synchronisation.md": {"two_workers": two_workers},
}


def regenerated(page):
    """The page's text as the program says it should be."""
    text = (ROOT / page).read_text()
    for name, make in GENERATED[page].items():
        begin, end = f"<!-- {name}: made by tests/docs/generate.py -->", f"<!-- /{name} -->"
        assert text.count(begin) == 1 and text.count(end) == 1, f"{page}: where is {begin}?"
        before, rest = text.split(begin)
        content = "\n".join(make())
        text = f"{before}{begin}\n\n{content}\n\n{end}{rest.split(end)[1]}"
    return text
