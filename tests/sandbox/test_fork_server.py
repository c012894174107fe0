"""Executions are forked off a process that stays up, which runs nothing foreign; where that fails, each is started."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from assay.sandbox import (
    FunctionTests,
    Limits,
    Sandbox,
    SandboxError,
    choose,
    fork_server,
    judge_functions,
)
from assay.sandbox.bubblewrap import Bubblewrap
from assay.sandbox.fork_server import close_servers, has_forks, server_for, why_no_fork

FORKING = choose("bubblewrap").tier
pytestmark = pytest.mark.skipif(
    not has_forks(FORKING), reason=f"no forks here: {choose('bubblewrap')}"
)
TESTS = FunctionTests("assert f(1) == 2")
RIGHT = "def f(x): return x + 1"


@pytest.fixture(autouse=True)
def ending():
    yield
    close_servers()


def run(tier, code: str, **limits):
    with Sandbox(tier, Limits(**limits)) as box:
        box.write("main.py", code)
        return box.exec(["python", "main.py"])


def below(pid: int) -> list[int]:
    """A process and all below it, while it is there."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return []
    return [pid, *(one for child in children for one in below(int(child)))]


def is_there(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


def wait_until_gone(pids: list[int]) -> bool:
    for _ in range(200):
        if not any(map(is_there, pids)):
            return True
        time.sleep(0.05)
    return False


def test_executions_and_verdicts_are_forked_off_one_process():
    run(FORKING, "print(1)")
    first = server_for(FORKING).pid
    verdict = judge_functions(FORKING, RIGHT, TESTS)
    printed = run(FORKING, "print(2)").stdout

    assert verdict.passed and printed == b"2\n"
    assert server_for(FORKING).pid == first


def test_forks_draw_different_numbers():
    code = "import os, random, json; print(json.dumps([random.random(), os.urandom(8).hex()]))"
    (drawn, bits), (drawn_again, bits_again) = (
        json.loads(run(FORKING, code).stdout) for _ in range(2)
    )

    assert drawn != drawn_again and bits != bits_again


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into the process")
def test_the_process_that_forks_never_holds_a_program_or_its_tests():
    tests = FunctionTests("y = 'needle-of-a-test'\nassert f(1) == 2")
    judge_functions(FORKING, f"{RIGHT}\nx = 'needle-of-a-program'", tests)
    pids = below(server_for(FORKING).pid)

    found = [pid for pid in pids if b"needle-of-a" in memory_of(pid)]

    assert found == [] and any(b"end_with_parent" in memory_of(pid) for pid in pids)


def memory_of(pid: int) -> bytes:
    data = b""
    try:
        with open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
                low, high = (int(number, 16) for number in line.split()[0].split("-"))
                if "rw" in line.split()[1]:
                    memory.seek(low)
                    data += memory.read(high - low)
    except ProcessLookupError:
        pass  # a fork that has ended
    return data


@pytest.mark.skipif(
    os.geteuid() != 0, reason="an ordinary user's has no capability anywhere"
)
def test_the_process_that_forks_keeps_only_what_it_needs_to_name_another_user():
    run(FORKING, "")
    status = Path(f"/proc/{below(server_for(FORKING).pid)[2]}/status").read_text()

    capabilities = {
        name: int(value, 16)
        for name, _, value in (line.partition(":\t") for line in status.splitlines())
        if name in ("CapEff", "CapPrm", "CapInh", "CapAmb")
    }

    assert capabilities == {"CapEff": 0xC0, "CapPrm": 0xC0, "CapInh": 0, "CapAmb": 0}


def test_one_that_is_killed_is_started_again_a_few_times_and_then_given_up():
    pids = []
    for _ in range(7):
        assert (
            run(FORKING, "print(1)").stdout == b"1\n"
        )  # by a fork, or by a sandbox of its own
        if (server := fork_server._servers.get(FORKING)) is not None and server.is_up:
            pids.append(server.pid)
            os.kill(server.pid, signal.SIGKILL)
            wait_until_gone([server.pid])

    assert len(set(pids)) == len(pids) == fork_server._MOST_STARTS


def test_a_program_whose_processes_are_all_killed_from_outside_gets_its_verdict_all_the_same():
    judge_functions(FORKING, RIGHT, TESTS)

    def kill_all() -> None:
        for pid in below(server_for(FORKING).pid):
            with contextlib.suppress(
                ProcessLookupError
            ):  # it ended with the one above it
                os.kill(pid, signal.SIGKILL)

    kills = threading.Timer(0.15, kill_all)
    kills.start()

    verdict = judge_functions(FORKING, f"import time\ntime.sleep(0.4)\n{RIGHT}", TESTS)

    kills.join()
    assert verdict.passed


def test_all_of_it_ends_when_the_process_that_asked_is_killed():
    code = (
        "import sys, threading, time\nfrom assay.sandbox import Sandbox, choose\n"
        "from assay.sandbox.fork_server import server_for\n"
        "tier = choose('bubblewrap').tier\nbox = Sandbox(tier)\nbox.write('main.py', 'while True: pass')\n"
        "threading.Thread(target=box.exec, args=(['python', 'main.py'],), daemon=True).start()\n"
        "print(server_for(tier).pid, flush=True)\ntime.sleep(60)"
    )
    host = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    )
    server = int(host.stdout.readline())
    # Two of bubblewrap and one that forks, then two more once the program runs; what the self-test left is a zombie.
    while (
        len(pids := [pid for pid in below(server) if is_there(pid)]) < 5
        and host.poll() is None
    ):
        time.sleep(0.02)

    host.kill()
    host.communicate()

    assert len(pids) >= 5 and wait_until_gone(pids)


def test_a_copy_of_this_process_starts_its_own_and_keeps_none_up():
    run(FORKING, "")
    pid = server_for(FORKING).pid
    child = os.fork()
    if not child:
        try:
            os._exit(
                0
                if run(FORKING, "print(1)").stdout == b"1\n"
                and server_for(FORKING).pid != pid
                else 1
            )
        finally:
            os._exit(2)

    assert os.waitpid(child, 0)[1] == 0
    assert run(FORKING, "print(1)").stdout == b"1\n" and server_for(FORKING).pid == pid


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (
            [
                "sh",
                "-c",
                "echo 'bwrap: No permissions to create new namespace' >&2; exit 1",
            ],
            "No permissions to create",
        ),
        (["/nonexistent/bwrap"], "No such file"),
    ],
)
def test_if_no_fork_is_possible_the_reason_is_given_and_each_execution_starts_a_sandbox(
    argv, why, monkeypatch
):
    launch = Bubblewrap.launch_server

    def failing(self, *args):
        found = launch(self, *args)
        found.argv = argv
        return found

    close_servers()
    monkeypatch.setattr(Bubblewrap, "launch_server", failing)

    assert why in why_no_fork(FORKING)
    assert (
        run(FORKING, "print(1)").stdout == b"1\n"
        and judge_functions(FORKING, RIGHT, TESTS).passed
    )


def test_an_interpreter_in_the_temporary_folder_is_not_forked(monkeypatch):
    monkeypatch.setattr(
        "assay.sandbox.bubblewrap.readable_for",
        lambda _: (Path("/tmp/python/bin/python3"),),
    )

    assert (
        "is in /tmp" in why_no_fork(FORKING)
        and why_no_fork(replace(FORKING, forks=False)) == ""
    )


def test_a_tier_whose_forks_do_not_hold_is_chosen_without_them(monkeypatch):
    from assay.sandbox import choice

    monkeypatch.setattr(
        choice, "why_not", lambda tier: "code inside mounts" if tier.forks else ""
    )

    assert choice._choose("bubblewrap", choice.Engine()) == choice.Choice(
        replace(FORKING, forks=False), no_forks="code inside mounts"
    )


def test_a_fork_without_a_file_system_is_a_sandbox_error_and_no_verdict(
    monkeypatch,
):
    settings = Bubblewrap.fork_settings
    monkeypatch.setattr(
        Bubblewrap,
        "fork_settings",
        lambda self, *args: {**settings(self, *args), "disk": "none"},
    )

    for work in (
        lambda: run(FORKING, "print(1)"),
        lambda: judge_functions(FORKING, RIGHT, TESTS),
    ):
        with pytest.raises(
            SandboxError, match=r"the sandbox could not be started: .*Invalid argument"
        ):
            work()
