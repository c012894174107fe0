"""`--debug`: where a fault came from, without the keys that its message, its causes or its lines of code show."""

import importlib
import json
import subprocess
import sys
import textwrap

import pytest

from assay.cli.python import command as run_script
from assay.store import Redactor

KEY = "planted-key-0123456789"
URL = f"https://user:{KEY}@host.test/v1?api-key={KEY}&page=2"


def raising(monkeypatch, error, cause=None):
    def broken(arguments):
        if cause is None:
            raise error
        try:
            raise cause
        except Exception as first:
            raise error from first

    monkeypatch.setattr("assay.cli.ls.command", broken)


@pytest.mark.parametrize(
    "text",
    [
        URL,
        f"Authorization: Bearer {KEY}",
        f"{{'x-api-key': '{KEY}'}}",
        f"first line\nsecond line: Bearer {KEY}",
    ],
    ids=["url", "header", "mapping", "second line"],
)
def test_a_key_in_what_an_exception_says_is_not_shown(assay, monkeypatch, text):
    raising(monkeypatch, RuntimeError(f"said {text} to nobody"))

    said = assay("ls", "--debug")

    assert said.code == 1
    assert (
        said.err.startswith("Traceback")
        and "in broken" in said.err
        and "RuntimeError: said " in said.err
    )
    assert KEY not in said.err and "[redacted]" in said.err


def test_a_key_of_the_environment_is_never_shown(assay, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", KEY)
    raising(
        monkeypatch,
        RuntimeError("no answer"),
        cause=ConnectionError(f"the server refused {KEY!r}"),
    )

    said = assay("ls", "--debug")

    assert "ConnectionError: the server refused '[redacted]'" in said.err
    assert "RuntimeError: no answer" in said.err and KEY not in said.err


def test_a_key_that_was_typed_is_not_shown(assay, folder):
    (folder / "refusing.py").write_text(
        "class Model:\n    def __init__(self, api_key):\n        raise ValueError(f'what is {api_key}?')\n"
        "    def generate(self, messages):\n        return 'x'\n"
    )

    said = assay(
        "run",
        "sums.jsonl",
        "--model",
        "refusing.py:Model",
        "-a",
        f"api_key={KEY}",
        "--debug",
    )

    assert (
        said.err.startswith("Traceback")
        and said.code == 1
        and "what is [redacted]?" in said.err
    )
    assert KEY not in said.err + said.out


def test_a_key_written_in_the_code_that_failed_is_not_shown(assay, folder):
    key = "sk-" + "a1b2c3d4" * 3
    (folder / "written.py").write_text(
        f"def tasks():\n    return [].index('{key}')\n\nTASK = tasks()\n"
    )

    said = assay("run", "written.py", "--debug")

    assert "Traceback" in said.err and "[].index('[redacted]')" in said.err
    assert key not in said.err


def test_a_folder_that_is_called_like_a_key_is_still_found(assay, monkeypatch, folder):
    place = folder / "sk-learn-examples"
    place.mkdir()
    (place / "own.py").write_text("raise OSError('no')\n")

    said = assay("run", str(place / "own.py"), "--debug")

    assert f'File "{place}/own.py", line 1' in said.err


def test_exit_code_and_document_are_those_of_a_run_without_debug(assay, monkeypatch):
    plain = assay("run", "nope.jsonl", "--json")

    traced = assay("run", "nope.jsonl", "--json", "--debug")

    assert traced.code == plain.code == 2 and traced.json == plain.json
    assert "Traceback" in traced.err and "Traceback" not in plain.err


def test_what_is_typed_at_the_keyboard_to_stop_is_traced_and_leaves_with_130(
    assay, monkeypatch
):
    raising(monkeypatch, KeyboardInterrupt())

    said = assay("ls", "--debug")

    assert (
        said.code == 130 and "KeyboardInterrupt" in said.err and "in broken" in said.err
    )


def test_the_traceback_of_a_script_shows_no_key(tmp_path, capsys):
    (tmp_path / "script.py").write_text(f"raise SystemError('{URL}')\n")

    code = run_script([str(tmp_path / "script.py")])

    err = capsys.readouterr().err
    assert (
        code == 1
        and "SystemError: https://[redacted]@host.test" in err
        and "script.py" in err
    )
    assert KEY not in err


def test_an_accident_in_a_run_says_nothing_of_the_options_that_a_file_gave(
    assay, folder, monkeypatch
):
    config = {
        "tasks": ["sums.jsonl"],
        "models": ["four.py:generate"],
        "model_args": {"api_key": KEY},
    }
    (folder / "config.yaml").write_text(json.dumps(config))

    def broken(*_, **__):
        raise LookupError(f"nothing under {KEY}")

    monkeypatch.setattr(
        importlib.import_module("assay.runner.run"), "make_plan", broken
    )

    shown = [
        assay("run", "--config", "config.yaml", *more).err
        for more in ((), ("--debug",))
    ]

    assert all("LookupError: nothing under [redacted" in err for err in shown)
    assert not any(KEY in err for err in shown)


def test_what_an_accident_came_from_is_forgotten_where_it_shows_a_secret():
    error, cause = RuntimeError("it failed", 3), ValueError(f"what is {KEY}?")
    error.__cause__ = cause

    Redactor(frozenset({KEY})).hide(error)

    assert (
        error.args == ("it failed", 3)
        and error.__cause__ is None
        and error.__suppress_context__
    )


def test_an_interrupt_where_python_cannot_raise_it_comes_again():
    code = """
        import signal, sys, time, weakref
        from assay.cli import main

        class Thing:
            pass

        def interrupted(_):
            signal.raise_signal(signal.SIGINT)

        def listing(arguments):
            thing = Thing()
            reference = weakref.ref(thing, interrupted)
            del thing
            time.sleep(60)

        main.import_module = lambda *_: type("Verb", (), {"command": staticmethod(listing)})
        sys.argv = ["assay", "ls"]
        sys.exit(main.main())
    """

    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True
    )

    assert (ended.returncode, ended.stderr) == (130, "assay: interrupted\n")
