"""Every block of the testbed's how-to document, executed with its text unchanged."""

import ast
import json
import re
import textwrap
from pathlib import Path

import pytest

from assay.core import as_message, generation_role, render_text
from assay.dialects.scripts import run_code
from assay.dialects.testbed.claims import is_dataset_folder
from assay.dialects.testbed.testbed_loading import guest_for
from assay.dialects.testbed.testbed_planning import tasks
from assay.runner.options import RunOptions

SEEDS = Path(__file__).parents[3].parent / "shared" / "seeds"
DOCUMENT = next(iter(SEEDS.glob("000_*.txt")), None) if SEEDS.is_dir() else None
MOST_LINES = 10

pytestmark = pytest.mark.skipif(
    DOCUMENT is None, reason="the how-to documents are not beside the repository"
)


def blocks():
    """The fenced blocks with their languages, as they stand in the document."""
    if DOCUMENT is None:
        return []
    text = DOCUMENT.read_text(encoding="utf-8")
    found = re.findall(
        r"^( *)```(\w*)[ ]*\n(.*?)^\1```", text, re.MULTILINE | re.DOTALL
    )
    return [(language, textwrap.dedent(body).rstrip()) for _, language, body in found]


def defined(source):
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name) for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def check_script_path(block, folder, evaluate_on):
    """The place of a loading script: a script there, under any name, is run by its folder."""
    pytest.importorskip("datasets", reason="datasets is not installed")
    script = folder / block.strip().replace("<dataset_name>", "animals")
    script.parent.mkdir(parents=True)
    script.write_text(
        "import datasets\n\n\nclass Animals(datasets.GeneratorBasedBuilder):\n"
        "    def _info(self):\n        return datasets.DatasetInfo()\n"
        "    def _split_generators(self, dl_manager):\n"
        "        return [datasets.SplitGenerator(name='test', gen_kwargs={})]\n"
        "    def _generate_examples(self):\n        yield 0, {'text': 'moo', 'label': 'cow'}\n"
    )
    start = "from testbed.data import register_dataset_retriever\n\n"
    (script.parent / "__init__.py").write_text(
        start + retriever_block().replace("dataset_name", "animals")
    )

    result, _ = evaluate_on(script.parent, "cow")

    assert (result.results[0].task, result.results[0].value) == ("animals", 1.0)


def check_start_path(block, folder, evaluate_on):
    """The place of the registrations of a dataset."""
    start = folder / block.strip().replace("<dataset_name>", "animals")
    start.parent.mkdir(parents=True)
    start.write_text(
        "from testbed.data.common import register_dataset_retriever\n\n"
        + retriever_block()
    )

    assert is_dataset_folder(start.parent)
    assert [task.name for task in tasks(str(start.parent), RunOptions())] == [
        "dataset_name"
    ]


def check_row(block, folder, evaluate_on):
    """The example row as the data of a run: its last comma makes it Python, not JSON, so a user's file holds it."""
    path = folder / "with_a_row.py"
    start = (
        "from testbed.data import prepare_dataloader, register_dataset_retriever\n\n\n"
    )
    loader = "loader = prepare_dataloader([row], batch_size=1, num_shots=0)\n"
    path.write_text(f"{start}{retriever_block()}\n\n\nrow = {block}\n{loader}")

    result, [asked] = evaluate_on(path, "example label")

    assert (result.results[0].value, result.results[0].n) == (1.0, 1)
    assert asked["prompt"] == [
        {"role": "user", "content": "example text"},
        {"role": "assistant"},
    ]


def check_retriever(block, folder, evaluate_on):
    """The retriever, in a file with one line before it, two shots on rows like the example."""
    path = folder / "my_dataset.py"
    path.write_text(PREAMBLES["python"] + "\n\n" + block + "\n")
    rows = folder / "rows.jsonl"
    row = ast.literal_eval(
        next(body for language, body in blocks() if language == "json")
    )
    rows.write_text(
        "".join(
            json.dumps({**row, "text": f"{row['text']} {n}"}) + "\n" for n in range(4)
        )
    )

    result, asked = evaluate_on(path, "example label", data=str(rows), num_fewshot=2)

    assert result.results[0].value == 1.0
    assert [turn["role"] for turn in asked[0]["prompt"]] == ["user", "assistant"] * 3
    assert "content" not in asked[0]["prompt"][-1]
    scope = {"__name__": "__main__", "__builtins__": guest_for(path)._builtins}
    run_code(compile(PREAMBLES["python"] + "\n" + block, "document", "exec"), scope)
    assert scope["retriever"](row, False)[1] == {
        "role": "assistant",
        "content": "example label",
    }
    assert scope["retriever"](row, True)[1] == {"role": "assistant"}


def check_context(block, folder, evaluate_on):
    """The context of in-context learning: the role that ends a round writes at the end."""
    lines = [line for line in block.split("\n") if line.strip() != "..."]
    turns = [
        dict(zip(("role", "content"), line.strip().split(": ", 1), strict=True))
        for line in lines
    ]
    messages = tuple(as_message(turn) for turn in turns)

    assert generation_role(messages) == "Answer"
    assert render_text(messages) == (
        "Question: {question}\nAnswer: {answer}\n\nQuestion: {question}\nAnswer:"
    )


PREAMBLES = {"python": "from testbed.data import register_dataset_retriever"}

TABLE = [
    ("testbed/data/<dataset_name>/<dataset_name>.py", "", check_script_path),
    ("testbed/data/<dataset_name>/__init__.py", "", check_start_path),
    ('"text": "example text"', "", check_row),
    (
        '@register_dataset_retriever("dataset_name")',
        PREAMBLES["python"],
        check_retriever,
    ),
    ("Question: {question}", "", check_context),
]
"""What a block begins with or holds, what is put before it, and what is done with it; in the document's order."""


def retriever_block():
    return next(body for language, body in blocks() if language == "python")


def test_every_block_of_the_document_is_in_the_table():
    found = blocks()

    assert len(found) == len(TABLE)
    assert all(
        telling in body for (_, body), (telling, _, _) in zip(found, TABLE, strict=True)
    )


@pytest.mark.parametrize("number", range(len(TABLE)))
def test_a_block_of_the_document_runs_unchanged(number, tmp_path, evaluate_on):
    language, block = blocks()[number]
    _, preamble, check = TABLE[number]

    assert len(preamble.splitlines()) <= MOST_LINES
    if language == "python":
        assert not defined(preamble) & defined(block)
    check(block, tmp_path, evaluate_on)


def test_the_metric_and_model_paths_of_the_document_are_those_we_serve():
    text = DOCUMENT.read_text(encoding="utf-8")

    assert "`testbed/evaluate/<metric_name>/<metric_name>.py`" in text
    assert "`testbed/models/model_base.py`" in text
    assert "apply_prompt_tempalte" in text
