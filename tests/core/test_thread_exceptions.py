"""Exceptions that are raised in other threads."""

import subprocess
import sys
import threading
import time

import pytest

from assay.core.thread_exceptions import raise_in

BLOCKED_THREAD = """
import sys, threading, time
from assay.core.thread_exceptions import raise_in, take_back

thread = threading.Thread(target=time.sleep, args=(1000,), daemon=True)
thread.start()
raise_in(thread.ident, KeyboardInterrupt)
if sys.argv[1] == "taken back":
    take_back(thread.ident)
sys.settrace(lambda *event: None)

def count():
    total = 0
    for number in range(1000):
        total += number
    return total

print(count())
"""


class Ended(BaseException):
    """Raised in the thread of a test."""


def test_code_in_a_loop_is_ended():
    ended = threading.Event()

    def loop() -> None:
        try:
            while True:
                pass
        except Ended:
            ended.set()

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    raise_in(thread.ident, Ended)

    assert ended.wait(30)


def test_code_that_sleeps_is_ended_when_it_wakes():
    ended = threading.Event()

    def sleep_again_and_again() -> None:
        try:
            while True:
                time.sleep(0.2)
        except Ended:
            ended.set()

    thread = threading.Thread(target=sleep_again_and_again, daemon=True)
    thread.start()
    raise_in(thread.ident, Ended)

    assert ended.wait(30)


@pytest.mark.parametrize("case", ["waiting", "taken back"])
def test_a_blocked_thread_does_not_hang_traced_loops_of_others(case):
    command = [sys.executable, "-c", BLOCKED_THREAD, case]

    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert ended.stdout.strip() == "499500"
