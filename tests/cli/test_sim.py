"""sim and advise: the interface's fields, bytes that repeat, and every wrong word refused by name."""

import collections
import hashlib
import html.parser
import json
import os
import xml.dom.minidom

import pytest

SIM = ["sim", "--cluster", "uneven4", "--steps", "50", "--no-report"]
CONFIG = """
[model]
name = "mlp_small"
[data]
name = "synthetic"
[train]
samples = 9600
target_accuracy = 0.5
eval_every_samples = 960
[optimizer]
lr = 0.2
[cluster]
workers = 3
step_floor_ms = [10, 10, 40]
"""
FIELDS = {"policy", "seconds", "pushes", "steps", "wait_share", "wait_share_mean", "events",
          "events_per_second", "staleness", "clock_gap_max", "barriers", "bytes",
          "seconds_to_target", "test_accuracy", "spread", "decisions_sha256"}


def test_json_has_the_fields_of_the_interface(paceline):
    done = paceline(*SIM, "--compare", "bsp,asp", "--seeds", 2, "--json")
    assert done.code == 0 and done.err == ""
    out = done.json
    assert (out["cluster"], out["workers"], out["seeds"]) == ("uneven4", 4, 2)
    assert out["report"] is None and out["compute_seconds"] > 0
    bsp, asp = out["policies"]
    assert FIELDS <= set(bsp)
    assert bsp["pushes"] == asp["pushes"] == 200
    assert bsp["clock_gap_max"] == 1 and bsp["barriers"] == 50
    assert bsp["staleness"] == {"p50": 0, "p95": 0, "max": 0}
    assert asp["wait_share"] == [0, 0, 0, 0] and asp["clock_gap_max"] > 10
    assert bsp["seconds_to_target"] is None and bsp["test_accuracy"] is None
    assert bsp["spread"]["seconds"][0] < bsp["seconds"] < bsp["spread"]["seconds"][1]
    assert len(bsp["steps"]) == len(bsp["wait_share"]) == 4
    assert bsp["events"] > 200 and bsp["events_per_second"] > 0
    assert set(bsp["bytes"]) == {"pushed", "pulled"}


def test_decisions_are_a_file_whose_hash_is_told(paceline, tmp_path):
    words = [*SIM, "--compare", "elastic_bsp", "--json", "--seeds", 2, "--decisions"]
    first = paceline(*words, "a.jsonl").json
    paceline(*words, "b.jsonl")
    content = (tmp_path / "a.jsonl").read_bytes()
    assert content == (tmp_path / "b.jsonl").read_bytes()
    assert hashlib.sha256(content).hexdigest() == first["policies"][0]["decisions_sha256"]
    line = json.loads(content.splitlines()[0])
    assert line["event"] == "joined" and line["reason"]


def test_several_policies_have_a_file_each(paceline, tmp_path):
    out = paceline(*SIM, "--compare", "bsp,ssp:3", "--json", "--decisions", "d.jsonl").json
    assert out["decisions"] == ["d.bsp.jsonl", "d.ssp_3.jsonl"]
    for name, policy in zip(out["decisions"], out["policies"]):
        digest = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        assert digest == policy["decisions_sha256"]


def test_a_table_for_people(paceline):
    out = paceline(*SIM, "--compare", "bsp,elastic_bsp:15,predictor=last").out
    assert "uneven4: 4 workers" in out and "elastic_bsp:15,predictor=last" in out


class Page(html.parser.HTMLParser):
    """Each element closed, in order; what is fetched from elsewhere."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.words = [], collections.Counter(), []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag not in {"script", "img", "link", "iframe"}, "the page needs nothing else"
        self.elements[tag] += 1
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements[tag] += 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data.strip())


def pictures(folder):
    """Names of the pictures; each is a file of its own that a strict reader takes."""
    for file in folder.iterdir():
        root = xml.dom.minidom.parse(str(file)).documentElement
        assert root.tagName == "svg" and root.namespaceURI == "http://www.w3.org/2000/svg"
        assert root.getElementsByTagName("style") and "nan" not in file.read_text()
        assert "var(" not in file.read_text(), "programs that typeset know no variables"
        assert root.getAttribute("width").endswith("mm") and root.getAttribute("height").endswith("mm")
    return sorted(file.name for file in folder.iterdir())


def test_a_report_and_pictures(paceline, tmp_path):
    words = ["sim", "--cluster", "uneven4", "--steps", 40, "--seeds", 2, "--pictures", "svg"]
    done = paceline(*words, "--compare", "bsp,ssp:3,elastic_bsp")
    assert done.code == 0 and "report: comparison.html" in done.out
    page = Page((tmp_path / "comparison.html").read_text())
    assert page.elements["svg"] == 5 and page.elements["tr"] == 4
    assert {"compute", "wait", "barrier", "worker 3", "share of the time", "share of the pushes",
            "virtual seconds since the first release"} <= set(page.words)
    assert pictures(tmp_path / "svg") == ["staleness.svg", "timeline_bsp.svg",
                                          "timeline_elastic_bsp_15.svg", "timeline_ssp_3.svg",
                                          "waiting.svg"]
    bsp = (tmp_path / "svg/timeline_bsp.svg").read_text()
    elastic = (tmp_path / "svg/timeline_elastic_bsp_15.svg").read_text()
    assert bsp.count('class="barrier"') > 3 * elastic.count('class="barrier"') > 0
    assert bsp.count('class="wait"') > 3 * elastic.count('class="wait"') > 0


def test_the_report_of_a_training_has_its_curves(paceline, tmp_path):
    (tmp_path / "c.toml").write_text(CONFIG)
    paceline("sim", "--train", "c.toml", "--compare", "bsp,asp", "--seeds", 2, "--pictures", "svg")
    page = Page((tmp_path / "comparison.html").read_text())
    assert "target 50 %" in page.words and "time to 50.0 %" in page.words
    assert any(word.startswith("asp reaches 50.0 % first, after") for word in page.words)
    curves = xml.dom.minidom.parse(str(tmp_path / "svg/accuracy.svg"))
    paths = [path.getAttribute("class") for path in curves.getElementsByTagName("path")]
    assert paths == ["", "", "band", "", "band", ""], "two in the legend, two with their bands"


@pytest.mark.parametrize("words", [
    ["--workers", 1, "--steps", 1],
    ["--workers", 3, "--seconds", 0.001],
    ["--workers", 10000, "--steps", 4],
    ["--cluster", "two_sites", "--steps", 30, "--seeds", 2],
    ["--cluster", "c.json", "--steps", 20],
])
def test_a_report_of_anything_is_whole_and_small(paceline, tmp_path, words):
    name = '<b>\\u0001&\\"' + 200 * "x"
    (tmp_path / "c.json").write_text('{"name": "%s", "workers": [{"step": 1}]}' % name)
    many = ",".join(["bsp", "asp", "ssp:1", "ssp:3", "dssp:1-4", "dssp_literal:1-4", "elastic_bsp:4",
                     "elastic_bsp:30,predictor=last", "ssp:30"])
    done = paceline("sim", *words, "--compare", many, "--pictures", "svg")
    assert done.code == 0
    page = (tmp_path / "comparison.html").read_text()
    Page(page)
    assert len(page) < 2_000_000 and "<b>" not in page and "\x01" not in page
    assert len(pictures(tmp_path / "svg")) in {2, 11}


def test_seconds_cut_the_run(paceline):
    out = paceline("sim", "--workers", 2, "--seconds", 25.5, "--compare", "asp", "--json",
                   "--no-report").json
    policy = out["policies"][0]
    assert policy["seconds"] == 25.5 and 46 <= policy["pushes"] <= 54


def test_training_gives_accuracy(paceline, tmp_path):
    (tmp_path / "c.toml").write_text(CONFIG)
    words = ["sim", "--train", "c.toml", "--compare", "bsp,asp", "--json", "--no-report"]
    out = paceline(*words).json
    assert out["workers"] == 3 and out["target_accuracy"] == 0.5
    for policy in out["policies"]:
        assert policy["pushes"] == 300 and policy["test_accuracy"] > 0.5
        assert 0 < policy["seconds_to_target"] <= policy["seconds"]
        evaluations = policy["by_seed"][0]["evaluations"]
        assert [e["samples"] for e in evaluations][:2] == [960, 1920]
    assert out["policies"][1]["seconds"] < 0.6 * out["policies"][0]["seconds"]
    same = paceline(*words, "--jobs", 1).json["policies"]
    for a, b in zip(out["policies"], same):
        assert a["test_accuracy"] == b["test_accuracy"]
        assert a["decisions_sha256"] == b["decisions_sha256"]
    short = paceline(*words, "--set", "train.samples=960").json
    assert short["policies"][0]["pushes"] == 30


@pytest.mark.parametrize("words, where", [
    (["--cluster", "uneven5"], "--cluster"),
    (["--cluster", "uneven4", "--workers", "3"], "--workers"),
    (["--workers", "2", "--seeds", "0"], "--seeds"),
    (["--workers", "0"], "--workers"),
    (["--workers", "1000001"], "--workers"),
    (["--workers", "2", "--compare", "elastic_bsp,bsp,elastic_bsp:15"], "--compare"),
    (["--workers", "2", "--steps", "0"], "--steps"),
    (["--workers", "2", "--seconds", "-1"], "--seconds"),
    (["--workers", "2", "--seconds", "nan"], "--seconds"),
    (["--workers", "2", "--steps", "5", "--seconds", "5"], "--seconds"),
    (["--workers", "2", "--compare", "bsp,bps"], "--compare"),
    (["--workers", "2", "--set", "train.samples=3"], "--set"),
])
def test_wrong_words(refused, words, where):
    assert where in refused(2, "sim", "--no-report", *words)["where"]


def test_missing_files(refused):
    assert "no.json" in refused(3, "sim", "--cluster", "no.json")["what"]
    assert "no.toml" in refused(2, "sim", "--train", "no.toml")["where"]
    refused(5, "sim", "--workers", 2, "--steps", 5, "--report", "no/such/folder/r.html")


def test_a_bad_cluster_is_refused_with_line_and_field(refused, tmp_path):
    (tmp_path / "c.json").write_text('{"name": "x",\n "workers": [\n  {"step": -1}]}\n')
    error = refused(2, "sim", "--cluster", "c.json")
    assert error["where"].startswith("c.json:3") and "workers[0].step" in error["what"]


def test_the_matrix_of_ends_is_a_cluster(paceline, tmp_path):
    (tmp_path / "ends.csv").write_text("1,2,3,4\n2,4,6,8\n")
    out = paceline("sim", "--cluster", "ends.csv", "--seconds", 100, "--compare", "asp", "--json",
                   "--no-report").json
    assert out["policies"][0]["steps"] == [100, 50]


def test_advice(paceline, tmp_path):
    (tmp_path / "c.toml").write_text(CONFIG)
    done = paceline("advise", "--train", "c.toml", "--seeds", 3, "--compare", "bsp,asp,ssp:3",
                    "--json")
    out = done.json
    assert out["policy"] == out["ranking"][0]["policy"] == "asp"
    assert out["target_accuracy"] == 0.5 and not out["target_is_ours"]
    assert out["certainty"] in {"sure", "likely", "open"} and out["how_sure"]
    assert out["why"].count(". ") >= 1 and "steps a second" in out["why"]
    times = [r["seconds_to_target"] for r in out["ranking"]]
    assert times == sorted(times)
    assert out["report"] is None
    text = paceline("advise", "--train", "c.toml", "--seeds", 1, "--compare", "bsp,asp").out
    assert "take asp" in text and "report" not in text


def test_advice_has_a_report(paceline, refused, tmp_path):
    (tmp_path / "c.toml").write_text(CONFIG)
    words = ["advise", "--train", "c.toml", "--seeds", 4, "--compare", "bsp,asp,ssp:3,ssp:9"]
    out = paceline(*words, "--report", "r.html", "--json").json
    assert out["report"] == "r.html"
    page = Page((tmp_path / "r.html").read_text())
    assert page.elements["svg"] == 3 + 4, "accuracy, waiting, staleness, and each timeline"
    order = [p["policy"] for p in out["ranking"]]
    # As the page has them first: in the table, best first.
    assert sorted(order, key=page.words.index) == order
    assert "seeds" in page.words and any(w.startswith(order[0] + " reaches 50.0 %") for w in page.words)
    refused(5, *words, "--report", "no/such/folder/r.html")


def test_advice_tries_what_is_spelt_twice_once(paceline, tmp_path):
    (tmp_path / "c.toml").write_text(CONFIG)
    out = paceline("advise", "--train", "c.toml", "--seeds", 2, "--compare",
                   "elastic_bsp,elastic_bsp:15,bsp", "--json").json
    assert [ranked["seeds"] for ranked in out["ranking"]] == [2, 2]
    assert {ranked["relative"] for ranked in out["ranking"]} >= {1}


def test_one_seed_makes_nothing_sure(paceline, tmp_path):
    (tmp_path / "c.toml").write_text(CONFIG)
    out = paceline("advise", "--train", "c.toml", "--seeds", 1, "--compare", "bsp,asp", "--json").json
    assert out["certainty"] in {"open", "likely"}


def test_a_report_replaces_neither_links_nor_devices(paceline, refused, tmp_path):
    (tmp_path / "old.html").write_text("old")
    (tmp_path / "link.html").symlink_to("old.html")
    paceline("sim", "--workers", 2, "--steps", 5, "--report", "link.html")
    assert (tmp_path / "link.html").is_symlink() and "<svg" in (tmp_path / "old.html").read_text()
    os.mkfifo(tmp_path / "pipe")
    refused(5, "sim", "--workers", 2, "--steps", 5, "--report", "pipe")
    assert (tmp_path / "pipe").is_fifo()


def test_advice_refuses_a_target_that_is_none(refused):
    assert refused(2, "advise", "--workers", 2, "--target", 1.5)["where"] == "--target"
