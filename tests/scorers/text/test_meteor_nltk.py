"""nltk's METEOR: refused by name without WordNet, and otherwise nltk's own number."""

import sys

import pytest

from assay.core import MissingExtra, Output, Sample, UsageError
from assay.scorers.text.meteor import MeteorNltk

nltk = pytest.importorskip("nltk")


def test_without_wordnet_it_is_refused_before_the_run(monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [])

    with pytest.raises(UsageError, match="WordNet data of nltk") as error:
        MeteorNltk()

    assert "nltk.downloader wordnet" in str(error.value) and "'meteor'" in str(
        error.value
    )


def test_without_nltk_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk", None)

    with pytest.raises(MissingExtra, match="pip install nltk"):
        MeteorNltk()


def test_equal_texts_have_the_known_value(monkeypatch):
    monkeypatch.setattr(
        nltk.data, "find", lambda name: name
    )  # equal words are matched before WordNet is asked

    score = MeteorNltk()(Sample("a", target="a cat"), Output.of("a cat"))

    assert score.value == 0.9375
