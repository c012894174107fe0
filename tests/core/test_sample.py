"""Samples: what a copy under another name keeps."""

from dataclasses import fields

import pytest

from assay.core import Sample, without_letters


def test_a_sample_under_another_name_keeps_everything_else():
    given = {f.name: (f.name,) for f in fields(Sample)}

    named = Sample(**given).named("other")

    assert named.id == "other"
    assert all(
        getattr(named, name) == value for name, value in given.items() if name != "id"
    )


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        (["A. Paris", "B. Rome"], ("Paris", "Rome")),
        (["(A)7", "(B)8"], ("7", "8")),
        (["A) x", "B) y"], ("x", "y")),
        (["A、x", "B、y"], ("x", "y")),
        (["A.北京", "B.上海"], ("北京", "上海")),
    ],
)
def test_options_lose_letters_that_they_carry(options, texts):
    assert without_letters(options) == texts


@pytest.mark.parametrize(
    "options",
    [
        ["A. Paris", "Rome"],
        ["B. Rome", "A. Paris"],
        ["A", "B"],
        ["A.", "B."],
        ["A+B", "B+C"],
        ["A.Smith", "B.Jones"],
        ["a. x", "b. y"],
        [],
    ],
)
def test_options_stay_as_they_are_unless_each_carries_its_letter(options):
    assert without_letters(options) == tuple(options)
