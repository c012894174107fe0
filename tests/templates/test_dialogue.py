"""What is asked after an answer: scripted turns, turns a template makes, and whose answers stand in the history."""

import json
from pathlib import Path

import pytest

from assay.core import (
    Candidate,
    Message,
    Output,
    Prompt,
    Reasoning,
    Sample,
    TemplateError,
    Text,
    UsageError,
)
from assay.templates import build_template, has_rounds, rounds

DATA = Path(__file__).parents[2].parent / "shared" / "data"
TRIP = Sample(
    id="t",
    input="Plan a trip.",
    turns=("Make it cheaper.", {"role": "user", "content": "And shorter."}),
)


def texts(prompt: Prompt) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in prompt.messages]


def test_scripted_turns_follow_the_models_own_answers():
    prompt = build_template(system="Be brief.")(TRIP)
    dialogue = rounds(TRIP, prompt)

    second = dialogue.next(prompt.messages, "Rome.")
    third = dialogue.next(second.messages, Output.of("Bari."))

    assert texts(third) == [
        ("system", "Be brief."),
        ("user", "Plan a trip."),
        ("assistant", "Rome."),
        ("user", "Make it cheaper."),
        ("assistant", "Bari."),
        ("user", "And shorter."),
    ]
    assert dialogue.round == 3
    assert dialogue.next(third.messages, "One day in Bari.") is None


def test_a_single_question_is_over_after_its_answer():
    sample = Sample(id="a", input="hi")
    prompt = build_template()(sample)

    assert not has_rounds(sample)
    assert rounds(sample, prompt).next(prompt.messages, "ho") is None


def test_the_place_where_the_model_writes_is_kept_in_every_round():
    turns = [{"role": "A", "content": "{{ input }}"}, {"role": "B"}]
    prompt = build_template(turns)(TRIP)

    second = rounds(TRIP, prompt).next(prompt.messages, "Rome.")

    assert second.messages[1] == Message.of("B", "Rome.")
    assert second.messages[-1] == Message("B", None) and second.role == "B"


def test_reasoning_does_not_become_part_of_the_history():
    answer = Output((Candidate((Reasoning("hm"), Text("Rome."))),))
    prompt = build_template()(TRIP)

    assert rounds(TRIP, prompt).next(prompt.messages, answer).messages[1].parts == (
        Text("Rome."),
    )


def test_reference_answers_can_replace_the_models_own():
    sample = Sample(
        id="t",
        input="one",
        turns=("two", "three"),
        fields={"references": ["r1", "r2", "r3"]},
    )
    prompt = build_template()(sample)
    dialogue = rounds(sample, prompt, history="reference")

    third = dialogue.next(dialogue.next(prompt.messages, "x").messages, "y")

    assert [m.text for m in third.messages] == ["one", "r1", "two", "r2", "three"]
    assert dialogue.next(third.messages, "z") is None


def test_targets_are_references_where_no_column_has_them():
    sample = Sample(id="t", input="one", turns=("two",), target=("r1", "r2"))
    prompt = build_template()(sample)

    assert (
        rounds(sample, prompt, history="reference")
        .next(prompt.messages, "x")
        .messages[1]
        .text
        == "r1"
    )


def test_a_missing_reference_is_an_error():
    prompt = build_template()(TRIP)

    with pytest.raises(
        TemplateError,
        match=r"'t': there is no reference answer for round 1 .*use history: model",
    ):
        rounds(TRIP, prompt, history="reference").next(prompt.messages, "x")


def test_an_unknown_history_is_refused():
    with pytest.raises(
        UsageError, match="unknown history 'own'; fix: use model or reference"
    ):
        rounds(TRIP, build_template()(TRIP), history="own")


class Guess:
    """Goes on until the model says the number."""

    def prompt(self, sample):
        return "Guess my number."

    def next(self, sample, turns):
        if turns[-1].text == sample.target:
            return None
        return (
            "Higher."
            if int(turns[-1].text) < int(sample.target)
            else Message.of("user", "Lower.")
        )


def test_a_template_may_lead_the_dialogue():
    sample = Sample(id="g", target="5")
    template = build_template(Guess)
    prompt = template(sample)
    dialogue = rounds(sample, prompt, template=template)

    second = dialogue.next(prompt.messages, "3")
    third = dialogue.next(second.messages, "9")

    assert has_rounds(sample, template)
    assert texts(third)[-3:] == [
        ("user", "Higher."),
        ("assistant", "9"),
        ("user", "Lower."),
    ]
    assert dialogue.next(third.messages, "5") is None


def test_a_fault_in_next_is_blamed_on_the_template():
    sample = Sample(id="g", target="5")
    template = build_template(Guess())
    prompt = template(sample)

    with pytest.raises(
        TemplateError, match="template method `next`, sample 'g': ValueError"
    ):
        rounds(sample, prompt, template=template).next(prompt.messages, "seven")


def test_a_turn_that_is_not_a_message_is_reported():
    sample = Sample(id="a", input="hi", turns=(7,))
    prompt = build_template()(sample)

    with pytest.raises(
        TemplateError, match="turn 2 of the dialogue, sample 'a': TypeError"
    ):
        rounds(sample, prompt).next(prompt.messages, "ho")


def test_mt_bench_questions_are_dialogues_of_two_rounds():
    file = DATA / "mt_bench" / "question.jsonl"
    if not file.exists():
        pytest.skip("shared/data/mt_bench is not here")
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        sample = Sample(
            id=str(row["question_id"]),
            input=row["turns"][0],
            turns=tuple(row["turns"][1:]),
            fields=row,
        )
        prompt = build_template()(sample)
        dialogue = rounds(sample, prompt)
        second = dialogue.next(prompt.messages, "answer")
        assert [m.text for m in second.messages] == [
            row["turns"][0],
            "answer",
            row["turns"][1],
        ]
        assert dialogue.next(second.messages, "again") is None
