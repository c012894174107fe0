"""What scorers look at before a run: the words of an option, and libraries."""

import pytest

from assay.core import MissingExtra, Requirement, UsageError
from assay.scorers.options import check_option, library


def test_a_word_that_an_option_does_not_have_is_refused_with_those_it_has():
    check_option("f1", "tokens", "cjk", ("words", "cjk"))

    with pytest.raises(UsageError) as refusal:
        check_option("f1", "tokens", "bytes", ("words", "cjk"))

    assert str(refusal.value) == "scorer 'f1' does not know tokens='bytes'; fix: tokens: one of words, cjk"


def test_a_library_that_is_not_installed_is_named_with_what_to_install():
    assert library("json", Requirement("json", "json", "json"), "here").loads("1") == 1

    with pytest.raises(MissingExtra, match=r"ocrlib.*assay\[ocr\]"):
        library("no_such_library.reading", Requirement("no_such_library", "ocrlib", "assay[ocr]"), "scorer 'ocr'")
