"""The how-to document of VLMEvalKit, taken at its word.

It has no fenced block: its code stands in spans such as `generate(image_path, prompt, dataset=None)` and in its table
of fields. Every span and every row of the table is executed here, with its text unchanged.
"""

import re
from pathlib import Path

import pytest

SEEDS = Path(__file__).parents[4] / "shared" / "seeds"

PROSE = {
    "vlmeval/utils/data_util.py",
    "vlmeval/smp.py",
    "vlmeval/vlm",
    "$HOME/LMUData",
    "$LMUData",
    "tsv",
    "dataset",
    "TSVDataset",
}
"""Spans that name files, folders and words; each is checked below."""
METHOD = "class Model:\n    @staticmethod\n    def {span}:\n"
SIGNATURES = {
    "build_prompt(self, line, dataset=None)": "class Data(TSVDataset):\n    def {span}:\n        {body}",
    "generate(image_path, prompt, dataset=None)": METHOD + "        return 'A'",
    "build_prompt(line, dataset=None)": METHOD + "        return dict(text='mine')",
    "dict(image=image_path, text=prompt)": "image_path, prompt = 'a.png', 'What?'\nmade = {span}",
}
HELPERS = {
    "encode_image_to_base64",
    "encode_image_file_to_base64",
    "decode_base64_to_image",
    "decode_base64_to_image_file",
}


@pytest.fixture(scope="module")
def document() -> str:
    found = sorted(SEEDS.glob("001_*.txt"))
    if not found:
        pytest.skip("the seed documents are not beside this repository")
    return found[0].read_text(encoding="utf-8")


def test_every_piece_of_code_in_the_document_is_in_the_tables_above(document):
    spans = {span.strip() for span in re.findall(r"`([^`\n]+)`", document)}

    assert "```" not in document
    assert spans == PROSE | set(SIGNATURES) | HELPERS


def test_the_helpers_and_classes_the_document_names_are_importable(document, file):
    from assay.dialects.vlmeval.vlmeval_toolkit import TOOLKIT

    names = ", ".join(sorted(HELPERS))
    source = f"from vlmeval.smp import {names}\nfrom vlmeval.utils.data_util import TSVDataset\nimport vlmeval.vlm\n"

    module = TOOLKIT.load(file("imports.py", source)).module

    assert all(callable(getattr(module, name)) for name in HELPERS)


def test_a_dataset_class_written_from_the_document_runs(
    document, table, picture, file, run, early_model
):
    table("Data", "index image question answer", [[0, picture(3), "What?", "it"]])
    span = "build_prompt(self, line, dataset=None)"
    made = "dict(image=image_path, text=prompt)"
    body = f"image_path, prompt = self.dump_image(line)[0], line['question']\n        return {made}"
    assert span in document and made in document
    source = "from vlmeval.utils import TSVDataset\n" + SIGNATURES[span].format(
        span=span, body=body
    )

    result = run(file("data.py", source), early_model({3: "it"}))

    assert result.value("exact_match") == 1.0


def test_a_model_class_written_from_the_document_runs(
    document, table, picture, file, run
):
    path = table(
        "Mine",
        "index image question A B answer",
        [[0, picture(3), "What?", "x", "y", "A"]],
    )
    spans = [
        "generate(image_path, prompt, dataset=None)",
        "build_prompt(line, dataset=None)",
    ]
    assert all(span in document for span in spans)
    first, second = (SIGNATURES[span].format(span=span) for span in spans)
    plain, custom = (
        file("plain.py", first),
        file("custom.py", first + second.removeprefix("class Model:")),
    )

    assert run(path, f"{plain}:Model").value("exact_matching") == 1.0
    custom_run = run(path, f"{custom}:Model", output=Path(custom).parent / "custom")
    assert custom_run.value("exact_matching") == 1.0


def field_table() -> list[tuple[str, list[str]]]:
    """Table 1 of the document: the fields of each dataset."""
    found = sorted(SEEDS.glob("001_*.txt"))
    if not found:
        return []
    lines = [
        line
        for line in found[0].read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    header = cells[0][1:]
    rows = [
        (row[0], [name for name, mark in zip(header, row[1:], strict=True) if mark])
        for row in cells[2:]
    ]
    return [(name, fields) for group, fields in rows for name in _names(group)]


def _names(group: str) -> list[str]:
    stem, slash, last = group.partition("/")
    return [stem, f"{stem.rpartition('_')[0]}_{last}"] if slash else [group]


NO_SEEDS = [
    pytest.param(
        "",
        [],
        marks=pytest.mark.skip("the seed documents are not beside this repository"),
    )
]


@pytest.mark.parametrize(("name", "fields"), field_table() or NO_SEEDS)
def test_a_tsv_with_exactly_the_fields_of_the_documents_table_runs(
    name, fields, table, picture, early_model, file, run
):
    words = {
        "image": picture(5),
        "image_path": "x.png",
        "question": "What?",
        "hint": "Look.",
        "A": "yes",
        "B": "no",
        "C": "",
        "D": "",
        "answer": "A" if "A" in fields else "Yes",
        "category": "c",
        "l2-category": "l",
        "split": "dev",
    }
    path = table(
        name,
        " ".join(fields),
        [[n, *(words[field] for field in fields[1:])] for n in (0, 1)],
    )
    judge = file("judge.py", "def judge(text):\n    return '1.0'\n") + ":judge"

    result = run(
        path, early_model({5: "A" if "A" in fields else "Yes"}), judges={"judge": judge}
    )

    assert result.status == "complete"
    assert all(row.value in (1.0, 100.0, 200.0) for row in result)
