"""Libraries that assay does not bring along: imported where they are used, named where they are missing."""

import pytest

from assay.core import MissingExtra, Requirement, library


def test_a_library_that_is_not_installed_is_named_with_what_to_install():
    assert Requirement("json", "json", "json").library("json", "here").loads("1") == 1

    with pytest.raises(MissingExtra, match=r"scorer 'ocr'.*ocrlib.*assay\[ocr\]"):
        Requirement("no_such_library", "ocrlib", "assay[ocr]").library(
            "no_such_library.reading", "scorer 'ocr'"
        )


def test_a_module_is_imported_by_its_whole_name():
    assert library("xml.dom.minidom", "xml", "xml").__name__ == "xml.dom.minidom"
