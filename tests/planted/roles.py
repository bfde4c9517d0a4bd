#!/usr/bin/env python3
"""Plants bugs in paceline/roles, one at a time, and says which of them are found, and by what: the
unit tests, the simulator's named tests, or its swarm.

    tests/planted/roles.py [NAME ...]     all, or those named

Works on a copy in a temporary folder; the tree is not touched. Exit code 1 if a bug was missed, or
could no longer be planted because the source has changed.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["base", "sync", "optim", "membership", "wire", "roles", "sim"]
PROGRAMS = {
    "unit": (["paceline/roles/roles_test", "--gtest_brief=1"], 60),
    "simulator": (["paceline/sim/sim_test", "--gtest_brief=1", "--gtest_fail_fast"], 240),
    "swarm": (["paceline/sim/paceline-swarm", "--seeds", "1-200"], 120),
}
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(Planted VERSION 0.1.0 LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_EXTENSIONS OFF)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_SOURCE_DIR}/cmake)
include(CTest)
include(GNUInstallDirs)
include(paceline_build)
foreach(folder %s)
  add_subdirectory(paceline/${folder})
endforeach()
"""

# name: (file, what is there, what is planted). The text must be there exactly once.
BUGS = {
    # server.cc
    "server_forgets_what_is_decided": (
        "server", "push <= last->second && !held_.contains(push)", "false"),
    "server_does_not_note_what_it_drops": (
        "server", "      held_.erase(push);\n      note_decided(push);\n    }\n    for (const wire::Recipient",
        "      held_.erase(push);\n    }\n    for (const wire::Recipient"),
    "server_carries_out_a_decision_twice": (
        "server", "if (decide.number == decided_ + 1) {", "if (decide.number >= decided_) {"),
    "server_keeps_what_it_applied": (
        "server", "  for (const PushId& push : update.pushes) {\n    held_.erase(push);\n    note_decided(push);",
        "  for (const PushId& push : update.pushes) {\n    note_decided(push);"),
    "server_does_not_report_on_a_new_link": (
        "server", "for (auto& [push, gradient] : held_) report(push, gradient);\n}\n\nvoid Server::on(const PeerDown",
        "}\n\nvoid Server::on(const PeerDown"),
    "server_reports_once": (
        "server", "if (now_ - gradient.reported >= gradient.wait) report(push, gradient);", ""),
    "server_acknowledges_what_it_misses": (
        "server", "send(from, wire::PushMissing{query.push});", "send(from, wire::PushAck{query.push});"),
    "server_takes_new_first_parameters": (
        "server", "if (!initialised_) {\n    const auto values", "if (true) {\n    const auto values"),
    "server_serves_whoever_asks": (
        "server", "recipient->second.incarnation != pull.incarnation || recipient->second.step != pull.step",
        "false"),
    "server_applies_the_first_of_a_mean": (
        "server", "if (gradients.size() == 1) {", "if (true) {"),
    "server_means_in_reverse": (
        "server", "optim::mean_into(mean_, gradients);",
        "std::ranges::reverse(gradients); optim::mean_into(mean_, gradients);"),
    "server_believes_any_push": (
        "server", "if (from != worker_node(push.worker)) return;", ""),
    "server_holds_without_bound": (
        "server", "if (held_of(push.worker) >= kHeldPerWorker) return;", ""),
    "server_never_gives_up": (
        "server", "now_ - coordinator_heard_ > options_.give_up", "false"),
    "server_says_nothing_to_a_second_configure": (
        "server", "if (initialised_) send(kCoordinator, wire::Initialised{});\n    return;", "return;"),
    # worker.cc
    "worker_keeps_its_gradient_over_lives": (
        "worker", "  done_.reset();\n  computing_is_ours_ = false;", "  done_.reset();"),
    "worker_keeps_its_push_over_lives": (
        "worker", "  unanswered_.reset();\n  for (Server& server : servers_) {\n    server.initial", 
        "  for (Server& server : servers_) {\n    server.initial"),
    "worker_counts_on_in_a_new_life": (
        "worker", "  ready_ = false;\n  next_step_ = 0;", "  ready_ = false;"),
    "worker_takes_any_release": (
        "worker", "release.incarnation != incarnation_) return;", "false) return;"),
    "worker_takes_parameters_of_another_life": (
        "worker", "parameters.incarnation != incarnation_) return;", "false) return;"),
    "worker_takes_parameters_of_another_step": (
        "worker", "if (parameters.step != next_step_) return;", ""),
    "worker_does_not_stash": (
        "worker", "    server->stashed = payload;\n", ""),
    "worker_pushes_to_the_first_server": (
        "worker", "for (std::size_t s = 0; s < servers_.size(); ++s) push_to(s);", "push_to(0);"),
    "worker_never_asks_for_its_push": (
        "worker", "if (unanswered_ && unanswered_->payloads[index]) send(node, wire::PushQuery{unanswered_->push});",
        ""),
    "worker_never_pulls": (
        "worker", "if (task_ && !task_->parameters[index]) {", "if (false) {"),
    "worker_never_asks_for_its_release": (
        "worker", "if (idle) send(kCoordinator, wire::Ask{incarnation_, next_step_});", ""),
    "worker_asks_for_the_step_before": (
        "worker", "wire::Ask{incarnation_, next_step_}", "wire::Ask{incarnation_, next_step_ - 1}"),
    "worker_resends_nothing_that_is_missing": (
        "worker", "if (unanswered_->payloads[from.index]) push_to(from.index);", ""),
    "worker_ready_before_its_servers_are_up": (
        "worker", "if (!server.up || server.initial) return;", "if (server.initial) return;"),
    "worker_ready_before_it_has_initialised": (
        "worker", "if (!server.up || server.initial) return;", "if (!server.up) return;"),
    "worker_initialises_only_before_it_is_ready": (
        "worker", "welcome.initialise) initialise();", "welcome.initialise && !ready_) initialise();"),
    "worker_ignores_the_step_floor": ("worker", "if (now_ < floor) {", "if (false) {"),
    "worker_stays_with_a_server_it_cannot_reach": (
        "worker", "now_ - server.since <= options_.give_up) continue;", "true) continue;"),
    "worker_ignores_being_expelled": (
        "worker", "if (expelled.incarnation != incarnation_) return;", "return;"),
    "worker_comes_back_after_a_refusal": (
        "worker", "if (expelled.incarnation == 0) return fail(4, expelled.why);",
        "if (expelled.incarnation == 0) return join();"),
    "worker_does_not_answer_pings": (
        "worker", "send(from, wire::Pong{ping.number});", ""),
    "worker_forgives_no_frozen_time": (
        "worker", "> kFrozen) {", "> kFrozen && false) {"),
    # coordinator.cc
    "coordinator_forgives_no_frozen_time": (
        "coordinator", "> kFrozen) forgive_silence();", "> kFrozen && false) forgive_silence();"),
    "coordinator_keeps_the_lease_of_a_lost_worker": (
        "coordinator", "    drop({id, worker.release.incarnation, worker.release.step}, decide);\n", ""),
    "coordinator_does_not_tell_the_policy_who_left": (
        "coordinator", "if (place == Place::Released || place == Place::Held) feed(sync::Left{id});", ""),
    "coordinator_recalls_nobody": (
        "coordinator", "feed(sync::Left{id});\n  recall_drained();", "feed(sync::Left{id});"),
    "coordinator_keeps_a_silent_worker": (
        "coordinator", "membership_.silent(now_, options_.silence)",
        "membership_.silent(now_, 1000 * options_.silence)"),
    "coordinator_waits_for_a_lost_server": (
        "coordinator", "!server.up && now_ - server.since > options_.server_grace", "false"),
    "coordinator_waits_for_a_silent_server": (
        "coordinator", "server.up && now_ - server.heard > options_.silence", "false"),
    "coordinator_repeats_no_decision": (
        "coordinator", "server.up && server.decided < number_ && now_ - server.sent >= kRepeat", "false"),
    "coordinator_takes_an_empty_server_back": (
        "coordinator", "if (state_ != State::Starting) {\n      return end(4,", "if (false) {\n      return end(4,"),
    "coordinator_welcomes_and_then_chooses": (
        "coordinator", "  choose_initialiser();\n  welcome(from, join.attempt, incarnation);",
        "  welcome(from, join.attempt, incarnation);\n  choose_initialiser();"),
    "coordinator_keeps_a_dead_initialiser": (
        "coordinator", "if (initialiser_ && membership_.is_in(*initialiser_)) return;",
        "if (initialiser_) return;"),
    "coordinator_does_not_ask_again_at_the_start": (
        "coordinator", "  for (std::uint32_t s = 0; s < servers_.size(); ++s) configure(s);\n  if (initialiser_",
        "  if (initialiser_"),
    "coordinator_starts_before_the_servers_are_initialised": (
        "coordinator", "if (state_ != State::Starting || !all_initialised()) return;",
        "if (state_ != State::Starting) return;"),
    "coordinator_keeps_the_old_life_on_a_new_join": (
        "coordinator", "      depart(worker);\n    }\n    state.died", "    }\n    state.died"),
    "coordinator_believes_every_life": (
        "coordinator", "if (membership_.is_current(WorkerId{from.index}, incarnation)) return true;",
        "return true;"),
    "coordinator_starts_a_new_life_where_the_old_one_was": (
        "coordinator", "    state.attempt = join.attempt;\n    state.next_step = 0;",
        "    state.attempt = join.attempt;"),
    "coordinator_starts_in_another_order": (
        "coordinator", "if (workers_[w].place == Place::Held) feed(sync::Joined{WorkerId{w}});",
        "if (auto v = static_cast<std::uint32_t>(workers_.size()) - 1 - w; workers_[v].place == Place::Held) feed(sync::Joined{WorkerId{v}});"),
    "coordinator_keeps_the_run_without_workers": (
        "coordinator", "now_ - nobody_since_ > options_.worker_grace", "false"),
    "coordinator_does_not_see_that_all_died": (
        "coordinator", "if (!all_died) return;", "return;"),
    "coordinator_starts_without_a_deadline": (
        "coordinator", "if (now_ - stats_.started < options_.start_deadline) return;", "return;"),
    # coordinator_decide.cc
    "push_is_complete_when_one_server_has_it": (
        "coordinator_decide", "if (!std::ranges::all_of(pending->second.held, std::identity{})) return;", ""),
    "push_is_complete_twice": (
        "coordinator_decide", "pending == pending_.end() || pending->second.complete", "pending == pending_.end()"),
    "workers_may_report_pushes": (
        "coordinator_decide", "if (server == nullptr || state_ != State::Training) return;",
        "if (state_ != State::Training || from.index >= servers_.size()) return;"),
    "step_is_not_counted_on": ("coordinator_decide", "  ++worker.next_step;\n", ""),
    "dropped_batch_is_lost": ("coordinator_decide", "  ledger_->give_back(pending->second.batch);\n", ""),
    "dropped_push_is_not_forgotten_by_servers": (
        "coordinator_decide", "  decide.drop.push_back(push);\n", ""),
    "applied_batch_is_not_noted": (
        "coordinator_decide", "    ledger_->applied(pending->second.batch);\n", ""),
    "applied_push_stays_pending": ("coordinator_decide", "    pending_.erase(pending);\n    ++stats_.applied;",
                                   "    ++stats_.applied;"),
    "release_names_the_version_before": (
        "coordinator_decide", ".version = stats_.version,\n                    .batch",
        ".version = stats_.version == 0 ? 0 : stats_.version - 1,\n                    .batch"),
    "released_worker_gets_no_parameters": (
        "coordinator_decide", "decide.recipients.push_back({worker_node(id), worker.release.incarnation, worker.release.step});",
        ""),
    "release_is_sent_to_the_wrong_worker": (
        "coordinator_decide", "send(worker_node(worker), workers_[worker.value].release);",
        "send(worker_node({0}), workers_[worker.value].release);"),
    "drained_worker_holds_up_the_barrier": (
        "coordinator_decide", "    events_.emplace_back(sync::Left{id});\n", ""),
    "rate_of_the_sample_before": (
        "coordinator_decide", "static_cast<double>(stats_.samples) / static_cast<double>(options_.samples)",
        "static_cast<double>(stats_.applied) / static_cast<double>(options_.samples)"),
    "rate_ignores_who_is_there": (
        "coordinator_decide", "stats_.lr, count, live_workers()", "stats_.lr, count, options_.workers"),
    "decision_is_forgotten_when_one_server_has_it": (
        "coordinator_decide", "std::ranges::min(servers_, {}, &ServerState::decided).decided",
        "std::ranges::max(servers_, {}, &ServerState::decided).decided"),
    "decision_is_sent_to_one_server": (
        "coordinator_decide", "    send(server_node(s), decide);\n  }\n  decides_",
        "    if (s == 0) send(server_node(s), decide);\n  }\n  decides_"),
    "decisions_are_numbered_from_zero": (
        "coordinator_decide", "decide.number = ++number_;", "decide.number = number_++;"),
    "waiting_is_not_counted": (
        "coordinator_decide", "if (worker.waits_since) stats.waited += now_ - *worker.waits_since;", ""),
    "samples_are_counted_by_batches": (
        "coordinator_decide", "stats_.samples += stream_->size_of(pending->second.batch);",
        "stats_.samples += options_.batch_size;"),
    "evaluation_is_asked_once": (
        "coordinator_decide", "if (!evaluator_in_) return;", "return;"),
    "evaluator_is_flooded": (
        "coordinator_decide", "evaluations_.size() < Evaluator::kWaitingMax", "true"),
    # coordinator_finish.cc
    "end_takes_any_version": (
        "coordinator_finish", "parameters.version != stats_.version || ", ""),
    "end_does_not_wait_for_the_evaluation": (
        "coordinator_finish", "const bool measured = !to_come && (evaluations_.empty() || !evaluator_in_);",
        "const bool measured = true;"),
    "end_waits_for_no_evaluator_that_starts": (
        "coordinator_finish", "const bool to_come = ", "const bool to_come = false && "),
    "end_does_not_ask_again": (
        "coordinator_finish", "    send(server_node(s), wire::Pull{0, kFinalStep});\n", ""),
    "end_is_not_told_to_servers": (
        "coordinator_finish", "if (servers_[s].up) send(server_node(s), wire::Finish{why});", ""),
    # ledger.cc, sample_stream.cc, evaluator.cc
    "returned_batch_waits_for_the_end": (
        "ledger", "if (!returned_.empty()) {", "if (!returned_.empty() && next_ >= batches_) {"),
    "every_epoch_is_the_same": (
        "sample_stream", 'rng_.stream("samples", epoch)', 'rng_.stream("samples", 0)'),
    "last_batch_is_full": (
        "sample_stream", "std::min(batch_size_, samples_ - batch * batch_size_)", "batch_size_"),
    "epoch_is_not_shuffled": ("sample_stream", "    rng.shuffle(std::span(slot.order));\n", ""),
    "evaluator_forgets_early_parameters": (
        "evaluator", "  early->second[from.index] = payload;\n", ""),
    "evaluator_never_pulls": (
        "evaluator", "if (!task.parameters[s]) send(server_node(s), wire::Pull{0, task.what.number});", ""),
    "evaluator_answers_once": (
        "evaluator", "if (answer_ && answer_->number == evaluate.number) return send(kCoordinator, *answer_);",
        "if (answer_ && answer_->number == evaluate.number) return;"),
}


class BuildError(Exception):
    pass


def run(command, folder, timeout=None):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout)


def build(folder, program):
    made = run(["cmake", "--build", "build", "-j2", "--target", Path(program).name], folder)
    if made.returncode != 0:
        raise BuildError(made.stdout + made.stderr)


def prepare(folder):
    for part in FOLDERS:
        shutil.copytree(ROOT / "paceline" / part, folder / "paceline" / part)
    shutil.copytree(ROOT / "cmake", folder / "cmake")
    (folder / "CMakeLists.txt").write_text(PROJECT % " ".join(FOLDERS))
    configured = run(["cmake", "-G", "Ninja", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Debug",
                      "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -w"], folder)
    if configured.returncode != 0:
        raise SystemExit(f"not configured:\n{configured.stderr}")


def found_by(folder):
    """The first program that fails, or None."""
    for name, (command, limit) in PROGRAMS.items():
        build(folder, command[0])
        try:
            if run([f"build/{command[0]}", *command[1:]], folder, limit).returncode != 0:
                return name
        except subprocess.TimeoutExpired:
            return f"{name} (it hangs)"
    return None


def plant(folder, bug):
    unit, there, planted = BUGS[bug]
    source = folder / f"paceline/roles/{unit}.cc"
    text = source.read_text()
    if text.count(there) != 1:
        return "NOT PLANTED"
    source.write_text(text.replace(there, planted))
    try:
        by = found_by(folder)
        return f"found, {by}" if by else "MISSED"
    except BuildError as error:
        print(str(error)[-2000:])
        return "NOT PLANTED"
    finally:
        source.write_text(text)


def main():
    bugs = sys.argv[1:] or list(BUGS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        if by := found_by(folder):
            raise SystemExit(f"{by} fails with no bug planted")
        found = 0
        for bug in bugs:
            result = plant(folder, bug)
            found += result.startswith("found")
            print(f"{result:24}{bug}", flush=True)
    print(f"{found} of {len(bugs)} found")
    return 0 if found == len(bugs) else 1


if __name__ == "__main__":
    sys.exit(main())
