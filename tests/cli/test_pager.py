"""The pager: only on a terminal, and never in the way."""

import io
import sys

import pytest

from assay.cli.display import find_pager, print_lines


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_off_a_terminal_there_is_no_pager(monkeypatch):
    monkeypatch.setenv("PAGER", "cat -u")
    monkeypatch.setattr(sys, "stdout", io.StringIO())

    assert find_pager() is None


@pytest.mark.parametrize(
    ("setting", "command"),
    [
        ("", None),
        ("cat", None),
        ("no-such-pager", None),
        ("head -n 3", ["head", "-n", "3"]),
    ],
)
def test_on_a_terminal_it_is_what_the_user_set(monkeypatch, setting, command):
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("PAGER", setting)

    assert find_pager() == command


def test_without_a_pager_lines_are_printed(capsys):
    print_lines(["a", "b"], None)

    assert capsys.readouterr().out == "a\nb\n"


def test_a_pager_takes_the_lines(capfd):
    print_lines(["a", "b"], ["tr", "ab", "xy"])

    assert capfd.readouterr().out == "x\ny\n"


def test_a_pager_that_is_left_early_ends_the_reading(capfd):
    read = []

    def lines():
        for number in range(1_000_000):
            read.append(number)
            yield "x" * 100

    print_lines(lines(), ["head", "-n", "1"])

    assert capfd.readouterr().out == "x" * 100 + "\n" and len(read) < 1_000_000
