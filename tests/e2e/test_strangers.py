"""Whoever does not know the job's secret changes nothing but a counter."""

import os
import random
import re
import socket
import ssl
import subprocess

import pytest

STEADY = {"cluster__step_floor_ms": "[20, 20, 20]"}


def open_socket(address):
    if address.startswith("unix:"):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(60)
        connection.connect(address.removeprefix("unix:"))
        return connection
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), 60)


def pester(address):
    """Random bytes, a foreign protocol, half a greeting, silence. Returns what stays open."""
    chance = random.Random(1)
    for data in [chance.randbytes(5000), b"GET / HTTP/1.1\r\n\r\n", b"PCL1" + bytes(200), b"PCL"]:
        with open_socket(address) as connection:
            try:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass
            except OSError:
                pass  # it threw us out
    return [open_socket(address) for _ in range(3)]  # say nothing


def strangers(run):
    return int(re.search(r"(\d+) strangers", run.log("coordinator")).group(1))


@pytest.mark.parametrize("transport", ["unix", "tcp"])
def test_strangers_at_every_port_change_only_a_counter(train, transport):
    quiet = train("bsp", **STEADY, cluster__transport=transport)
    calm = quiet.finish()
    assert strangers(quiet) == 0
    run = train("bsp", **STEADY, cluster__transport=transport)
    run.wait_for_pushes(10)
    held = []
    for role, rank in [("coordinator", 0), ("server", 0), ("server", 1)]:
        held += pester(run.address(role, rank))
    summary = run.finish()
    for connection in held:
        connection.close()
    assert strangers(run) >= 4
    assert summary["param_sha256"] == calm["param_sha256"]
    assert summary["failures"] == []


def make_certificate(folder):
    key, certificate = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=stranger"],
        check=True, capture_output=True)
    return certificate, key


def tls_context(certificate=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if certificate:
        context.load_cert_chain(*certificate)
    return context


def is_refused(address, context):
    with open_socket(address) as plain:
        try:
            with context.wrap_socket(plain) as secure:
                secure.sendall(b"hello")
                return secure.recv(1) == b""
        except OSError:  # ssl.SSLError is one
            return True


def test_tls_trains_and_refuses_a_wrong_or_missing_certificate(train, tmp_path):
    calm = train("bsp", **STEADY).finish()
    run = train("bsp", **STEADY, cluster__transport="tcp", cluster__tls="true")
    run.wait_for_pushes(10)
    wrong = tls_context(make_certificate(tmp_path))
    for role, rank in [("coordinator", 0), ("server", 0), ("server", 1)]:
        address = run.address(role, rank)
        assert is_refused(address, wrong)
        assert is_refused(address, tls_context())
        with open_socket(address) as plain:  # without TLS
            plain.sendall(os.urandom(100))
    summary = run.finish()
    assert strangers(run) >= 3
    assert summary["param_sha256"] == calm["param_sha256"]
    assert summary["failures"] == []


def test_the_secret_stands_in_no_command_line_environment_or_file(train):
    run = train("bsp", **STEADY, cluster__transport="tcp", cluster__tls="true")
    run.wait_for_pushes(10)
    secret = re.compile(rb"[0-9a-f]{64}")
    for role, rank in [("coordinator", 0), ("server", 1), ("worker", 2), ("evaluator", 0)]:
        pid = run.pid(role, rank)
        for name in ("cmdline", "environ"):
            with open(f"/proc/{pid}/{name}", "rb") as shown:
                assert not secret.search(shown.read()), (role, name)
    for path in run.folder().rglob("*"):
        if path.is_file() and path.name != "decisions.jsonl":
            assert not secret.search(path.read_bytes()), path
    run.finish()
