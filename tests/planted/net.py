#!/usr/bin/env python3
"""Plants bugs in paceline/wire and paceline/net, one at a time, and sees whether their tests find them.

Works on a copy in a temporary folder (or the one named with --dir, kept for the next call):
    tests/planted/net.py [--only REGEX] [--dir FOLDER]
Each bug is one replacement in one file. A bug is found if a test fails, crashes or does not end.
Exit code 1 if one was missed or could not be planted.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# file, what stands there, what a slip would make of it
BUGS = [
    # wire: messages
    ("wire/codec.cc", "begin <= kMaxFloats && count <= kMaxFloats - begin", "begin + count <= kMaxFloats"),
    ("wire/codec.cc", "pb.set_repeated(m.repeated);", ""),
    ("wire/codec.cc", "!std::ranges::equal(std::as_bytes(std::span(canonical)), bytes)", "false"),
    ("wire/codec.cc", "pb.worker() < kMaxIndex", "pb.worker() <= kMaxIndex"),
    ("wire/codec.cc", "pb.accuracy() >= 0 && pb.accuracy() <= 1", "!(pb.accuracy() < 0 || pb.accuracy() > 1)"),
    ("wire/codec.cc", 'list.size() <= kMaxList, "a list', 'list.size() >= 0, "a list'),
    ("wire/codec.cc", "text.substr(0, kMaxText)", "text"),
    ("wire/codec.cc", 'checks.require(pb.has_push(), "no push");', ""),
    # wire: frames
    ("wire/frame.cc", "header.head_bytes > limits.head_bytes", "header.head_bytes > limits.head_bytes + 1"),
    ("wire/frame.cc", "header.payload_bytes > limits.payload_bytes", "false"),
    ("wire/frame.cc", "flags != 0", "false"),
    ("wire/frame.cc", "staged_end_ - staged_begin_ < kFrameHeaderBytes", "staged_end_ == staged_begin_"),
    ("wire/frame.cc", "if (state_ == State::Broken) return fail(error_);", ""),
    ("wire/frame.cc", "catch (const std::bad_alloc&)", "catch (const std::bad_array_new_length&)"),
    ("wire/frame.cc", "rest.size() >= kDirectBytes", "false"),
    ("wire/frame.cc", "    staged_end_ -= staged_begin_;\n    staged_begin_ = 0;\n", "    staged_end_ -= staged_begin_;\n"),
    # wire: the handshake
    ("wire/handshake.cc", "CRYPTO_memcmp(message.data() + 8, expected.data(), kMacBytes) != 0", "false"),
    ("wire/handshake.cc", "expected.data(), kMacBytes)", "expected.data(), 4)"),
    ("wire/handshake.cc", '"initiator" : "acceptor."', '"acceptor." : "acceptor."'),
    ("wire/handshake.cc", "transcript += first ? hello_of_peer_ : hello();", ""),
    ("wire/handshake.cc", "*from == identity_.self", "false"),
    ("wire/handshake.cc", "accepts || *from == peer_", "true"),
    ("wire/handshake.cc", "hello && version != identity_.version", "false"),
    ("wire/handshake.cc", "message.replace(24, 32, digest(identity_.job));", ""),
    ("wire/handshake.cc", "verdict == Verdict::Accepted ? proof(side_)", "true ? proof(side_)"),
    # net: loop and pool
    ("net/event_loop.cc", " || found->second.setting != setting", ""),
    ("net/event_loop.cc", "std::min(at, latest)", "at"),
    ("net/event_loop.cc", ">= kMaxTasks", ">= 2 * kMaxTasks"),
    ("net/event_loop.cc", "    state->waiting.fetch_sub(1);\n    run();", "    run();"),
    ("net/pool.cc", "statistics.cached_bytes + size <= cached_bytes_most", "true"),
    ("net/pool.cc", "const auto found = free.find(size);", "const auto found = free.lower_bound(size / 2);"),
    ("net/pool.cc", "    found->second.pop_back();\n", ""),
    # net: connections
    ("net/connection.cc", "queued_bytes_ -= n;", ""),
    ("net/connection.cc", "std::size_t skip = front_written_;", "std::size_t skip = 0;"),
    ("net/connection.cc", "while (state_ == State::Up) {", "while (true) {"),
    ("net/connection.cc", "late && self->state_ != State::Up", "late && self->state_ == State::Closed"),
    ("net/connection.cc", "!outbox_.empty() && written_at_ < limit", "false"),
    ("net/connection.cc", "reader_->mid_frame() && read_at_ < limit", "read_at_ < limit"),
    ("net/connection.cc", "reader_->mid_frame() && read_at_ < limit", "false"),
    ("net/connection.cc", "if (outbox_.empty() && state_ == State::Leaving) return stream_->end_writing();", ""),
    ("net/connection.cc", "if (handshake_->done()) become_up();", "become_up();"),
    # net: the transport
    ("net/transport.cc", "unproven_.size() >= options_.unproven_most", "false"),
    ("net/transport.cc", "    old->abandon();\n", ""),
    ("net/transport.cc", "link.queued_messages() >= options_.queue_messages_most", "false"),
    ("net/transport.cc", "bytes > options_.queue_bytes_most", "bytes == 0"),
    ("net/transport.cc", "link.queued_messages() > 0 && bytes", "bytes"),
    ("net/transport.cc", "payload_bytes > options_.limits.payload_bytes", "false"),
    ("net/transport.cc", "    call_later_on_loop(peer, calling);\n  } else {", "  } else {"),
    ("net/transport.cc", "error != asio::error::connection_refused", "false"),
    ("net/transport.cc", "!S_ISSOCK(there.st_mode)", "false"),
    ("net/transport.cc", "if (ours) unlink", "if (ours && path.empty()) unlink"),
    ("net/transport.cc", "chmod(address.path.c_str(), 0600) == 0", "true"),
    ("net/transport.cc", "tls && options_.tls ?", "!tls && options_.tls ?"),
    ("net/transport.cc", "std::is_same_v<Protocol, Tcp>", "true"),
    ("net/transport.cc", "empty || Clock::now() >= flush->deadline", "empty || Clock::now() < flush->deadline"),
    ("net/transport.cc", "empty || Clock::now() >= flush->deadline", "empty"),
    ("net/transport.cc", "    ++counters_.strangers;\n    const std::string text", "    const std::string text"),
    ("net/transport.cc", "  keep_from_children(socket.native_handle());\n", ""),
    # net: TLS
    ("net/tls.cc", "asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert", "asio::ssl::verify_peer"),
    ("net/tls.cc", "asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert", "asio::ssl::verify_none"),
    ("net/tls.cc", "SSL_CTX_set_min_proto_version(native, TLS1_3_VERSION);", ""),
    ("net/tls.cc", "O_CLOEXEC, 0600", "O_CLOEXEC, 0644"),
    ("net/tls.cc", "-kValidBefore", "0"),
]


def run(command, folder, timeout):
    try:
        done = subprocess.run(command, cwd=folder, timeout=timeout, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        return None, ""


def copy(source, target):
    """With a new time, and only what differs: else the build keeps what came of the last bug."""
    source, target = pathlib.Path(source), pathlib.Path(target)
    if not target.exists() or target.read_bytes() != source.read_bytes():
        shutil.copyfile(source, target)


def copy_tree(folder):
    """The folders that the tests need, as a project of their own."""
    for part in ["CMakeLists.txt", "CMakePresets.json", "cmake", "paceline/CMakeLists.txt",
                 "paceline/base", "paceline/wire", "paceline/net", "tests/corpus"]:
        source, target = ROOT / part, folder / part
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True, copy_function=copy)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            copy(source, target)
    (folder / "tests/CMakeLists.txt").write_text("")
    # A test that waits in vain says so sooner.
    node = folder / "paceline/net/test_node.h"
    node.write_text(node.read_text().replace("std::chrono::seconds(60)", "std::chrono::seconds(8)"))


def build(folder, module):
    return run(["cmake", "--build", "build", "--target", f"{module}_test", "-j2"], folder, 900)


def verdict(folder, module):
    code, out = build(folder, module)
    if code != 0:
        return "does not compile", out
    program = next((folder / "build").rglob(f"{module}_test"))
    code, out = run([str(program), "--gtest_fail_fast", "--gtest_brief=1"], folder, 120)
    return ("missed" if code == 0 else "found"), out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--dir", type=pathlib.Path)
    options = parser.parse_args()
    folder = options.dir or pathlib.Path(tempfile.mkdtemp(prefix="planted-net-"))
    copy_tree(folder)
    code, out = run(["cmake", "-G", "Ninja", "-B", "build", "-DPACELINE_TORCH=OFF",
                     "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0"], folder, 120)
    if code != 0:
        sys.exit(out)
    for module in ["wire", "net"]:
        result, out = verdict(folder, module)
        if result != "missed":
            why = [line for line in out.splitlines() if "FAILED" in line or "error" in line]
            sys.exit("\n".join([f"without a bug: {module}_test {result}", *why[:20]]))
    found, wrong = 0, []
    for name, there, planted in BUGS:
        if not re.search(options.only, f"{name}: {there} -> {planted}"):
            continue
        path = folder / "paceline" / name
        good = path.read_text()
        if good.count(there) < 1:
            result = "not there any more"
        else:
            path.write_text(good.replace(there, planted, 1))
            result, _ = verdict(folder, name.split("/")[0])
            path.write_text(good)
        label = " ".join(f"{name}: {there!r} -> {planted!r}".split())
        print(f"{result:16}  {label}", flush=True)
        if result == "found":
            found += 1
        else:
            wrong.append(label)
    print(f"{found} found, {len(wrong)} not")
    if options.dir is None:
        shutil.rmtree(folder)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
