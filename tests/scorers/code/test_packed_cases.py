"""Packed cases are read without unpickling: one text, of bounded size, or a refusal in one line."""

import base64
import json
import os
import pickle
import zlib

import pytest
from each_row import each

from assay.scorers.code import livecodebench
from assay.scorers.code.livecodebench import pickled_text, unpacked

CASES = json.dumps([{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}])


def packed(value, protocol: int = 4) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value, protocol))).decode()


@each("protocol", [1, 2, 3, 4, 5])
@each("text", ["", "é\ud800", CASES, "x" * 300, "y" * 300_000])
def test_a_pickled_text_is_read_as_pickle_would(protocol, text):
    assert unpacked(packed(text, protocol)) == text


class Attack:
    def __reduce__(self):
        return os.system, ("touch escaped",)


@pytest.mark.parametrize(
    "value",
    [Attack(), ["a"], {"a": 1}, b"a", 1, None, ("a", "b")],
    ids=lambda value: type(value).__name__,
)
def test_a_pickle_of_anything_else_is_refused_and_nothing_is_called(
    value, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(
        ValueError,
        match="a pickle of something other than one text, which is not loaded",
    ):
        unpacked(packed(value))

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("not packed!", "neither JSON nor packed by base64"),
        (base64.b64encode(b"plain").decode(), "not packed by zlib"),
        (
            base64.b64encode(zlib.compress(pickle.dumps(CASES))[:-9]).decode(),
            "cut short",
        ),
        (
            base64.b64encode(zlib.compress(pickle.dumps(CASES)[:-9])).decode(),
            "cut short|something else",
        ),
        (base64.b64encode(zlib.compress(b"")).decode(), "cut short"),
    ],
)
def test_a_cell_that_cannot_be_unpacked_says_why(cell, reason):
    with pytest.raises(ValueError, match=reason):
        unpacked(cell)


def test_a_cell_that_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(livecodebench, "LARGEST", 1 << 20)

    with pytest.raises(ValueError, match="they unpack to more than 1 MB"):
        unpacked(packed("0" * (20 << 20)))


def test_every_cut_of_a_pickle_is_refused():
    data = pickle.dumps(CASES, 4)

    for length in range(len(data)):
        with pytest.raises(ValueError, match="they are a pickle"):
            pickled_text(data[:length])
