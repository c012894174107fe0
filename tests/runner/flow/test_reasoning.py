"""Reasoning through a run: kept in the record, counted in the notes, and seen by no scorer."""

import json
from typing import ClassVar

import pytest

import assay
from assay.cli.main import main
from assay.core import Abilities, Candidate, Output, Sample, Text
from assay.store.journal import seal

ROWS = [{"id": str(n), "question": f"q{n}", "answer": "42"} for n in range(4)]
ANSWER = "<think>\nIs it 41? No.\n</think>\n\n42"


def thinks(text: str) -> str:
    """A function of text."""
    return ANSWER


async def thinks_async(text: str) -> str:
    """The same, as a coroutine."""
    return ANSWER


def gives_output(text: str):
    """Returns an output of its own."""
    return Output.of(ANSWER)


def never_ends(text: str) -> str:
    """Does not close its reasoning."""
    return "<think>Is it 42"


class Thinker:
    """A class with `generate` over requests."""

    def generate(self, requests):
        return [ANSWER for _ in requests]


class Model:
    """A model that declares itself."""

    abilities = Abilities()
    identity: ClassVar = {"thinker": 1}

    def __init__(self, text=ANSWER, stop_reason="stop"):
        self.text, self.stop_reason = text, stop_reason

    def generate(self, requests):
        candidate = Candidate((Text(self.text),), self.stop_reason)
        return [Output((candidate,)) for _ in requests]


class Verbatim(Model):
    """A model whose tags are part of its answers."""

    think_tags = False
    identity: ClassVar = {"thinker": 2}


class OwnTags(Model):
    """A model with tags of its own."""

    think_tags = ("<note>", "</note>")
    identity: ClassVar = {"thinker": 3}


def run(folder, model, rows=ROWS, **settings):
    task = assay.Task("t", dataset=rows, scorers=settings.pop("scorers", "exact_match"))
    return assay.run(task, model, output=str(folder), **settings)


def outputs(folder):
    lines = (folder / "records.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    return [record["output"] for record in records if record["kind"] == "output"]


@pytest.mark.parametrize(
    "model", [thinks, thinks_async, gives_output, Thinker, Model()]
)
def test_every_kind_of_model_is_scored_by_its_answer(tmp_path, model):
    result = run(tmp_path / "run", model)

    assert [row.value for row in result] == [1.0]
    [candidate] = outputs(tmp_path / "run")[0]["candidates"]
    assert candidate["parts"] == [
        {"type": "reasoning", "text": "Is it 41? No."},
        {"type": "text", "text": "42"},
    ]
    assert any("4 answers" in note and "had reasoning" in note for note in result.notes)


def test_scripted_models_predictions_files_and_replays_are_separated(tmp_path):
    predictions = tmp_path / "predictions.jsonl"
    rows = [{"id": row["id"], "prediction": ANSWER} for row in ROWS]
    predictions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run(tmp_path / "first", thinks)

    scripted = run(tmp_path / "a", "scripted", model_args={"answers": ANSWER})
    predicted = run(tmp_path / "b", f"predictions/{predictions}")
    replayed = run(tmp_path / "c", f"replay/{tmp_path / 'first'}")

    for result in (scripted, predicted, replayed):
        assert [row.value for row in result] == [1.0]


def run_files(folder, *arguments):
    """Run a task and a model that are files, so that the run can be scored again."""
    data, model = folder / "t.jsonl", folder / "model.py"
    data.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    model.write_text(f"def thinks(text: str) -> str:\n    return {ANSWER!r}\n")
    words = ["run", str(data), "--model", f"{model}:thinks", "-o", str(folder / "run")]
    assert main([*words, "--scorer", "exact_match", *arguments]) == 0
    return folder / "run"


@pytest.mark.parametrize("value", ["false", "False"])
def test_think_tags_may_be_turned_off(tmp_path, value):
    folder = run_files(tmp_path, "-a", f"think_tags={value}")

    summary = json.loads((folder / "summary.json").read_text())
    assert [row["value"] for row in summary["results"]] == [0.0]
    assert "had reasoning" not in json.dumps(summary)
    assert [row.value for row in assay.score(folder)] == [0.0]


def test_a_model_may_say_itself_how_it_marks_reasoning(tmp_path):
    verbatim = run(tmp_path / "a", Verbatim())
    own = run(tmp_path / "b", OwnTags("<note>Is it 41?</note>42"))
    others = run(tmp_path / "c", OwnTags(ANSWER))

    values = [row.value for result in (verbatim, own, others) for row in result]
    assert values == [0.0, 1.0, 0.0]


def test_tags_of_ones_own_are_an_option_of_every_model(tmp_path):
    def notes(text: str) -> str:
        return "((Is it 41?))42"

    result = run(tmp_path, notes, model_args={"think_tags": ["((", "))"]})

    assert [row.value for row in result] == [1.0]


def test_wrong_think_tags_are_refused_before_the_run(tmp_path):
    with pytest.raises(assay.AssayError, match="think_tags is 3"):
        run(tmp_path, thinks, model_args={"think_tags": 3})


@pytest.mark.parametrize(
    ("stop_reason", "outcome"), [("length", "truncated"), ("stop", "unparsed")]
)
def test_reasoning_that_never_ends_is_not_an_answer(tmp_path, stop_reason, outcome):
    model = Model("<think>Is it 42", stop_reason)

    result = run(tmp_path, model, scorers=["includes", "number", "wer"])

    for row in result:
        assert dict(row.outcomes) == {outcome: 4}
        assert row.value == (1.0 if row.metric == "wer[none]" else 0.0)


def test_a_run_of_before_is_separated_when_it_is_scored_again(tmp_path):
    folder = run_files(tmp_path)
    journal = folder / "records.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    with open(journal, "wb") as file:
        for line in lines:
            del line["crc"]
            if line["kind"] == "output":
                line["output"]["candidates"] = [{"text": ANSWER}]
            file.write(seal(line))

    result = assay.score(folder, trust_code=True)

    assert [row.value for row in result] == [1.0]


def test_a_resumed_run_counts_the_reasoning_of_earlier_answers(tmp_path):
    run(tmp_path, thinks, limit=2)

    result = run(tmp_path, thinks)

    assert any("4 answers" in note and "had reasoning" in note for note in result.notes)


def test_a_protocol_of_another_system_keeps_the_text_as_that_system_does(tmp_path):
    task = assay.Task(
        "t", dataset=ROWS, scorers="exact_match", protocol="vlmeval/t@upstream"
    )

    result = assay.run(task, thinks, output=str(tmp_path))

    assert [row.value for row in result] == [0.0]
    assert outputs(tmp_path)[0]["candidates"][0]["text"] == ANSWER


def test_replicas_separate_too(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(f"def thinks(text: str) -> str:\n    return {ANSWER!r}\n")

    on = run(tmp_path / "a", f"{file}:thinks", replicas=2)
    off = run(
        tmp_path / "b", f"{file}:thinks", replicas=2, model_args={"think_tags": False}
    )

    assert [row.value for result in (on, off) for row in result] == [1.0, 0.0]


def test_the_next_turn_of_a_dialogue_does_not_repeat_the_reasoning(tmp_path):
    asked = []

    def thinks_aloud(messages):
        asked.append([message["content"] for message in messages])
        return ANSWER

    samples = [Sample("1", "q", target="42", turns=("again?",))]
    run(tmp_path, thinks_aloud, rows=samples)

    assert asked[-1] == ["q", "42", "again?"]


def test_unknown_marks_before_the_answer_are_noted_with_the_option_that_reads_them(
    tmp_path,
):
    model = Model("<plan>Is it 41?</plan>42")

    unread = run(tmp_path / "a", model)
    separated = run(tmp_path / "b", model, model_args={"think_tags": "<plan>,</plan>"})

    assert unread.results[0].value == 0.0
    [note] = [note for note in unread.notes if "<plan>" in note]
    assert "4 answers begin with <plan>…</plan>" in note
    assert "-a 'think_tags=<plan>,</plan>'" in note
    assert separated.results[0].value == 1.0
    assert not any("begin with" in note for note in separated.notes)


@pytest.mark.parametrize("scorer", ["exact_match", "number", "math", "f1", "wer"])
def test_reasoning_in_targets_is_not_compared(tmp_path, scorer):
    rows = [
        {**row, "answer": f"<think>41 or 5?</think>\n{row['answer']}"} for row in ROWS
    ]

    result = run(tmp_path / "run", thinks, rows, scorers=scorer)

    assert result.results[0].value == (0.0 if scorer == "wer" else 1.0)
    assert any("4 targets have reasoning" in note for note in result.notes)


def test_a_target_that_is_only_a_mark_is_compared_as_it_is(tmp_path):
    rows = [{"id": "0", "question": "Which tag ends it?", "answer": "</think>"}]

    result = run(tmp_path / "run", Model("It is `</think>`."), rows, scorers="includes")

    assert result.results[0].value == 1.0
