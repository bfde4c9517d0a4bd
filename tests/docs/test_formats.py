"""The pages on JSON and on the wire name each field that the sources have, and no other."""

import re

import paceline_docs as docs

JSON = (docs.ROOT / "docs/reference/json.md").read_text()
WIRE = (docs.ROOT / "docs/reference/wire-format.md").read_text()


def section(text, heading):
    return re.split(rf"^## {re.escape(heading)}$", text, flags=re.M)[1].split("\n## ")[0]


def first_column(text):
    """The names in the first cell of each row, in order."""
    names = []
    for row in re.findall(r"^\| (`.*?) \|", text, re.M):
        names += re.findall(r"`([^`]+)`", row)
    return names


def assigned(path, variable, begin="", end="\x00"):
    """The fields that a source writes, in order, each once."""
    text = (docs.ROOT / path).read_text()
    text = text[text.index(begin):].split(end)[0]
    return list(dict.fromkeys(re.findall(rf'\b{variable}\["(\w+)"\]', text)))


def test_files_of_a_run():
    header = (docs.ROOT / "paceline/node/run_folder.h").read_text()
    named = set(re.findall(r'path / "([\w.]+)"', header)) | {"processes.json"}
    listed = {name.split("/")[0] for name in first_column(section(JSON, "A run's folder"))}
    assert listed == named | {"logs"}


def test_summary():
    assert first_column(section(JSON, "summary.json")) == \
        assigned("paceline/node/summary.cc", "out", "Json summary_json", "std::string summary_text")


def test_metrics():
    source = "paceline/roles/coordinator_finish.cc"
    lines = section(JSON, "metrics.jsonl")
    assert first_column(lines) == assigned(source, "line", "::record_metrics", "::record_evaluation")
    evaluation = lines.split("A line an evaluation")[1]
    assert re.findall(r"`(\w+)`", evaluation) == assigned(source, "line", "::record_evaluation")


def test_decisions():
    named = first_column(section(JSON, "decisions.jsonl"))
    text = (docs.ROOT / "paceline/roles/decision_json.cc").read_text()
    written = set(re.findall(r'\\"(\w+)\\":', text))
    assert sorted(named) == sorted(written)


def test_cluster_files():
    page = (docs.ROOT / "docs/reference/cluster-file.md").read_text()
    source = (docs.ROOT / "paceline/sim/cluster_file.cc").read_text()
    asked = r'\b(?:ask|number|needed|text|objects?|durations?)\(\s*"(\w+)"'
    fields = set(re.findall(asked, source))
    named = set(re.findall(r"`(\w+)`", page))
    assert len(fields) > 30 and fields - named == set()
    assert set(re.findall(r'kind == "(\w+)"', source)) <= named
    profiles = (docs.ROOT / "paceline/sim/profiles.cc").read_text()
    listed = first_column(section(page, "Ready ones"))
    assert set(re.findall(r'name = "(\w+)"', profiles)) == set(listed)
    example = re.search(r"```json\n(.*?)```", page, re.S).group(1)
    assert example == (docs.ROOT / "examples/clusters/cloud.json").read_text()


def messages():
    header = (docs.ROOT / "paceline/wire/messages.h").read_text()
    variant = re.search(r"using Message = std::variant<(.*?)>;", header, re.S).group(1)
    return [name.strip() for name in variant.split(",")]


def proto():
    text = (docs.ROOT / "paceline/wire/paceline.proto").read_text()
    found = {}
    for name, body in re.findall(r"^message (\w+) \{(.*?)\}", text, re.M | re.S):
        fields = re.findall(r"((?:repeated )?\w+) (\w+) = (\d+);", body)
        found[name] = ", ".join(f"{tag} `{field}` {kind}" for kind, field, tag in fields)
    return found


def test_wire_has_each_message_by_number_with_its_fields():
    table = WIRE.split("## 3. Messages")[1]
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \| [^|]* \|[^|]*\| ?(.*?) ?\|$", table, re.M)
    assert [(int(number), name) for number, name, _ in rows] == list(enumerate(messages(), 1))
    fields = proto()
    for _, name, listed in rows:
        assert listed == fields[name], name
    inner = dict(re.findall(r"^\| `(\w+)` \| (\d `.*) \|$", WIRE, re.M))
    assert inner == {name: text for name, text in fields.items() if name not in messages()}


def constant(path, name):
    text = (docs.ROOT / path).read_text()
    return re.search(rf"\b{name} = ([^;]+);", text).group(1)


def test_sizes_on_the_wire():
    assert f"A hello, {constant('paceline/wire/handshake.h', 'kHelloBytes')} bytes" in WIRE
    assert f"A proof, {constant('paceline/wire/handshake.h', 'kProofBytes')} bytes" in WIRE
    assert f"| {constant('paceline/wire/frame.h', 'kFrameHeaderBytes')} | `head_bytes`" in WIRE
    assert f"Protocol version: {constant('paceline/wire/messages.h', 'kProtocolVersion')}." in WIRE
    assert constant("paceline/wire/messages.h", "head_bytes") == "16U << 20U" and "16 MiB" in WIRE
    assert constant("paceline/wire/messages.h", "payload_bytes") == "16ULL << 30U" and "16 GiB" in WIRE
    transport = "paceline/net/transport.h"
    assert constant(transport, "handshake_timeout") == "std::chrono::seconds(5)"
    assert constant(transport, "unproven_most") == "256"
    assert "within 5 s" in WIRE and "At most 256 connections" in WIRE
    for table in re.findall(r"\| offset \| bytes \| what \|\n\|.*\n((?:\|.*\n)+)", WIRE):
        at = 0
        for offset, size in re.findall(r"^\| (\d+) \| (\d+) \|", table, re.M):
            assert int(offset) == at
            at += int(size)
