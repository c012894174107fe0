"""Which files are taken for VLMEvalKit's."""

import pytest

from assay.dialects.recognise import dialect_of


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("from vlmeval.smp import *", "it imports vlmeval"),
        (
            "class M:\n    def generate(self, image_path, prompt, dataset=None): ...",
            "class M has generate(image_path",
        ),
        (
            "class D:\n    def build_prompt(self, line, dataset=None): ...",
            "class D has build_prompt(line, dataset)",
        ),
    ],
)
def test_a_file_is_ours_by_its_imports_or_its_methods(file, source, reason):
    dialect, why = dialect_of(file("x.py", source))

    assert dialect == "vlmeval"
    assert reason in why


@pytest.mark.parametrize(
    "source",
    ["import ulmeval\nimport vlmeval", "def generate(messages): ...", "not python ("],
)
def test_other_files_are_not_ours(file, source):
    found = dialect_of(file("x.py", source))

    assert found is None or found[0] != "vlmeval"


@pytest.mark.parametrize(
    ("header", "ours"),
    [
        ("index image question", True),
        ("index question image_path", True),
        ("index question answer", False),
        ("image question", False),
    ],
)
def test_a_tsv_is_ours_by_its_header(table, header, ours):
    found = dialect_of(str(table("x", header, [])))

    assert (found is not None and found[0] == "vlmeval") is ours
