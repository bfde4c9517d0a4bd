"""No link of the docs leads nowhere."""

import re

import paceline_docs as docs
import pytest

PAGES = [str(page.relative_to(docs.ROOT)) for page in docs.pages()]


def without_code(text):
    return re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.M | re.S)


def anchors(text):
    """The names that GitHub gives to headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
            for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    path = docs.ROOT / page
    text = path.read_text()
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
        if re.match(r"[a-z]+:", target):
            continue  # elsewhere in the world
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        if not there.exists() or not there.is_relative_to(docs.ROOT):
            wrong.append(target)
        elif anchor and anchor not in anchors(there.read_text()):
            wrong.append(target)
    assert wrong == []


def test_every_page_is_linked_from_another():
    linked = set()
    for page in docs.pages():
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
            if not re.match(r"[a-z]+:", target):
                linked.add((page.parent / target).resolve())
    lonely = [str(page.relative_to(docs.ROOT)) for page in docs.pages()
              if (docs.ROOT / "docs") in page.parents and page not in linked
              and page.parent not in linked]
    assert lonely == []


TOP = "paceline|tests|tools|docs|examples|bench|cmake"
MODULES = "|".join(sorted(path.name for path in (docs.ROOT / "paceline").iterdir() if path.is_dir()))


def test_paths_in_the_docs_exist():
    """Whatever is written as code and looks like a file or folder of the tree is one."""
    missing = []
    for page in docs.pages():
        text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.M | re.S)
        for word in re.findall(rf"`((?:{TOP}|{MODULES})/[^`\s]*)`", text):
            # `roles/ledger` stands for the header and the source.
            path = word.split(":")[0].rstrip("/")
            path = f"paceline/{path}" if re.match(rf"(?:{MODULES})(?:/|$)", path) else path
            if "/my_" in path:  # the reader's own
                continue
            if not any(docs.ROOT.glob(path)) and not any(docs.ROOT.glob(path + ".*")):
                missing.append(f"{page.relative_to(docs.ROOT)}: {word}")
    assert missing == []
