"""Ownership: only the key of the user makes the code in `run.json`, and only for its own content."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assay.store.integrity import FIELD, key_file, signed, why_foreign

MANIFEST = {
    "format": 1,
    "config": {"tasks": ["a.py"], "scorers": []},
    "cells": [{"n": 1.5, "é": None}],
    "t": (1, 2),
}


@pytest.fixture(autouse=True)
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config"


def test_a_signed_manifest_is_recognised_after_a_round_trip(tmp_path):
    import msgspec

    stored = msgspec.json.decode(msgspec.json.encode(signed(MANIFEST)))

    assert why_foreign(stored) is None


@pytest.mark.parametrize(
    "edit",
    [
        lambda m: m["config"].update(scorers=["evil.py:score"]),
        lambda m: m["config"].pop("scorers"),
        lambda m: m.update(status="complete"),
        lambda m: m["cells"].append({}),
        lambda m: m.update(config={"tasks": ["b.py"]}),
        lambda m: m.update({FIELD: "0" * 64}),
        lambda m: m.update({FIELD: None}),
        lambda m: m.pop(FIELD),
    ],
)
def test_any_edit_makes_it_foreign(edit):
    import msgspec

    stored = msgspec.json.decode(msgspec.json.encode(signed(MANIFEST)))

    edit(stored)

    assert why_foreign(stored) is not None


def test_another_users_code_is_foreign(monkeypatch, tmp_path):
    theirs = signed(MANIFEST)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "other"))

    assert "there is no key" in (why_foreign(theirs) or "")
    signed(MANIFEST)
    assert "was not made by you on this machine" in (why_foreign(theirs) or "")


def test_the_key_can_be_read_by_its_user_alone(config):
    signed(MANIFEST)

    assert stat.S_IMODE(key_file().stat().st_mode) == 0o600
    assert len(key_file().read_bytes()) == 32
    assert os.listdir(config / "assay") == ["key"]


def test_looking_makes_no_key(config):
    why_foreign({**MANIFEST, FIELD: "0" * 64})

    assert not config.exists()


def test_writers_at_once_share_one_key(config):
    with ThreadPoolExecutor(16) as pool:
        codes = set(pool.map(lambda _: signed(MANIFEST)[FIELD], range(64)))

    assert len(codes) == 1
    assert os.listdir(config / "assay") == ["key"]


def test_a_key_that_others_can_read_is_not_used():
    made = signed(MANIFEST)
    os.chmod(key_file(), 0o644)

    assert "can be read by others" in (why_foreign(made) or "")
    assert FIELD not in signed(MANIFEST)


def test_a_damaged_key_is_reported():
    made = signed(MANIFEST)
    key_file().write_bytes(b"short")

    assert "is not a key; remove it" in (why_foreign(made) or "")


def test_without_a_writable_key_runs_are_unsigned_and_the_reason_is_reported(
    tmp_path, monkeypatch
):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(blocked / "below"))

    made = signed(MANIFEST)

    assert FIELD not in made
    assert "was not made by you" in (why_foreign(made) or "")


def test_without_a_home_folder_the_error_names_the_fix(monkeypatch):
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)

    made = signed(MANIFEST)

    assert FIELD not in made
    assert "set XDG_CONFIG_HOME" in (why_foreign(made) or "")


def test_a_relative_config_folder_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))

    assert key_file() == Path(tmp_path) / ".config" / "assay" / "key"


def test_an_unreadable_folder_leaves_runs_unsigned(config):
    if os.getuid() == 0:
        code = "import os\nfrom assay.store.integrity import signed\nos.setuid(65534)\nprint(signed({'a': 1}))"
        config.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == "{'a': 1}"
        return
    config.mkdir(mode=0o500)
    assert signed({"a": 1}) == {"a": 1}
