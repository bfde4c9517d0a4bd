"""What people get wrong: one clear sentence, the right exit code, and JSON that is only JSON."""

import json
import os
import shutil
import socket
import subprocess

import pytest

CODES = {"usage": 2, "data": 3, "machine": 5}


def refused(run, code, *words):
    """Ends with that code; the sentence and the error object say these words."""
    assert run.end() == code, run.errors() + run.logs()
    error = json.loads(run.output())["error"]
    assert error["code"] == code
    said = " ".join(str(error[k]) for k in ("where", "what", "fix"))
    sentence = run.errors().strip().splitlines()[-1]
    for word in words:
        assert word in said and word in sentence, (word, said, sentence)


@pytest.mark.parametrize(("settings", "word"), [
    ({"sync": "elastic_bps"}, "elastic_bsp"),
    ({"sync": "dssp:5-3"}, "dssp"),
    ({"cluster__workers": 0}, "workers"),
    ({"cluster__wrokers": 3}, "workers"),
    ({"model__name": "cnnn"}, "cnn"),
    ({"train__samples": '"many"'}, "samples"),
])
def test_what_the_user_wrote_wrong(train, settings, word):
    run = train(**settings)
    refused(run, 2, word)
    assert not run.runs.exists()


def test_missing_data(train, tmp_path):
    refused(train(data=tmp_path / "nothing"), 3, "nothing")


def test_truncated_data(train, tmp_path, data):
    torn = tmp_path / "torn"
    shutil.copytree(data, torn)
    images = torn / "train-images-idx3-ubyte"
    os.truncate(images, images.stat().st_size - 1)
    refused(train(data=torn), 3, "train-images-idx3-ubyte")


def test_data_with_a_wrong_checksum(train, tmp_path, data):
    torn = tmp_path / "torn"
    shutil.copytree(data, torn)
    with (torn / "train-images-idx3-ubyte").open("r+b") as images:
        images.seek(1000)
        images.write(b"paceline")
    run = train(data=torn)
    refused(run, 3, "train-images-idx3-ubyte")
    assert run.left_over() == []


def test_a_port_in_use(train):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run = train(cluster__transport="tcp", cluster__listen=f"127.0.0.1:{port}")
        refused(run, 5, str(port), "in use")


def test_a_run_folder_that_is_a_file(train, tmp_path):
    (tmp_path / "file").write_text("")
    refused(train(**{"run.dir": str(tmp_path / "file")}), 5, str(tmp_path / "file"))


def read_only_folder(tmp_path):
    """A folder that nobody can write, and the command that makes it so for its children."""
    folder = tmp_path / "fixed"
    folder.mkdir()
    if os.geteuid() != 0:
        folder.chmod(0o555)
        return folder, []
    mounts = ["unshare", "--mount", "sh", "-c",
              f'mount -t tmpfs -o ro none "{folder}" && exec "$@"', "sh"]
    if subprocess.run([*mounts, "true"], capture_output=True, check=False).returncode == 0:
        return folder, mounts
    return "/sys/kernel/paceline", []  # root that may not mount: no folder is made there either


def test_a_read_only_run_folder(train, tmp_path):
    folder, wrap = read_only_folder(tmp_path)
    refused(train(wrap=wrap, **{"run.dir": str(folder)}), 5, str(folder))


def test_json_is_all_there_is_on_standard_output(train):
    run = train("ssp:3", train__samples=400)
    summary = run.finish()  # parses all of it as one value
    assert run.output().count("\n") == 1 or json.loads(run.output()) == summary
    assert "paceline: " in run.errors()
