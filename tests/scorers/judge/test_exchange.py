"""Exchanges: a judge sees what was said before an answer, whoever led the dialogue."""

import asyncio
import json

import pytest

import assay
from assay.core import Candidate, Message, Output, Round, Sample, Text, UsageError
from assay.scorers.judge.exchange import exchanges, question_media
from assay.scorers.judge.judge import Judge
from assay.scorers.judge.judge_pairs import PairwiseJudge
from assay.store import RunReader

ROW = {
    "id": "d",
    "turns": ["Name a river.", "And its length?"],
    "references": ["The Rhine.", "1,230 km"],
}
SAMPLE = Sample("d", "Name a river.", fields=ROW, turns=("And its length?",))


def dialogue(*answers: str, opening: str = "Name a river.") -> Output:
    """The last output of a dialogue as a scorer gets it."""
    asked, rounds = [("user", opening)], []
    for number, answer in enumerate(answers):
        if number:
            asked = [
                *asked,
                ("assistant", answers[number - 1]),
                ("user", "And its length?"),
            ]
        rounds.append(Round(tuple(asked), Output.of(answer)))
    return Output(rounds[-1].output.candidates, rounds=tuple(rounds))


class Listening:
    """A judge that keeps what it was asked."""

    def __init__(self, reply=lambda prompt: '{"score": 3}'):
        self.prompts, self.reply = [], reply

    async def ask(self, prompt, options=None):
        self.prompts.append(prompt)
        return Output.of(self.reply(prompt))


def judged(scorer, output, sample=SAMPLE, **reply):
    judge = Listening(**reply)
    score = asyncio.run(scorer(judge)(sample, output))
    return score, [prompt.messages[-1].text for prompt in judge.prompts]


def test_the_last_answer_has_its_whole_conversation():
    (last,) = exchanges(SAMPLE, dialogue("The Elbe.", "1,094 km"))

    assert last.turns == (
        ("user", "Name a river."),
        ("assistant", "The Elbe."),
        ("user", "And its length?"),
    )
    assert (last.output.text, last.number, last.reference) == (
        "1,094 km",
        2,
        "1,230 km",
    )


def test_every_round_has_the_conversation_before_it():
    first, second = exchanges(SAMPLE, dialogue("The Elbe.", "1,094 km"), "all")

    assert first.turns == (("user", "Name a river."),)
    assert (first.output.text, first.reference) == ("The Elbe.", "The Rhine.")
    assert second.references == ("The Rhine.", "1,230 km")
    assert [second.turns[place] for place in second.answer_places] == [
        ("assistant", "The Elbe.")
    ]


def test_text_that_a_template_adds_is_not_part_of_the_conversation():
    output = dialogue(
        "The Elbe.", "1,094 km", opening="Answer in one line.\n\nName a river."
    )

    (last,) = exchanges(SAMPLE, output)

    assert last.turns[0] == ("user", "Name a river.")


def test_a_judge_of_a_dialogue_sees_every_turn_and_grades_the_last_answer():
    _, (prompt,) = judged(
        lambda judge: Judge(models={"judge": judge}), dialogue("The Elbe.", "1,094 km")
    )

    for piece in (
        "TURN 1, user\nName a river.",
        "TURN 2, assistant\nThe Elbe.",
        "TURN 3, user\nAnd its length?",
    ):
        assert piece in prompt
    assert "ANSWER\n1,094 km" in prompt


def test_all_rounds_are_graded_and_named():
    grades = iter((2, 5))
    score, prompts = judged(
        lambda judge: Judge(models={"judge": judge}, rounds="all"),
        dialogue("The Elbe.", "1,094 km"),
        reply=lambda prompt: json.dumps({"score": next(grades)}),
    )

    assert score.value == {"overall": 3.5, "round_1": 2.0, "round_2": 5.0}
    assert "ANSWER\nThe Elbe." in prompts[0] and "ANSWER\n1,094 km" in prompts[1]


def test_a_round_without_a_verdict_leaves_the_dialogue_without_a_value():
    replies = iter(('{"score": 2}', "I would rather not."))
    score, _ = judged(
        lambda judge: Judge(models={"judge": judge}, rounds="all"),
        dialogue("The Elbe.", "1,094 km"),
        reply=lambda prompt: next(replies),
    )

    assert (score.value, score.outcome.value) == (None, "judge_error")


def test_a_round_with_an_empty_answer_counts_as_the_lowest_mark():
    output = dialogue("The Elbe.", "")
    cut = Output((Candidate((), "length"),), rounds=output.rounds)

    score, _ = judged(lambda judge: Judge(models={"judge": judge}, rounds="all"), cut)

    assert score.value == {"overall": 2.0, "round_1": 3.0, "round_2": 1.0}


def test_auto_shows_a_reference_where_there_is_one():
    def prompt_for(sample):
        return judged(
            lambda judge: Judge(models={"judge": judge}, template="auto"),
            Output.of("x"),
            sample,
        )[1][0]

    assert "REFERENCE\nt" in prompt_for(Sample("a", "q", "t"))
    assert "REFERENCE" not in prompt_for(Sample("a", "q"))


def test_a_pair_of_dialogues_shows_each_with_its_own_answers():
    sample = Sample(
        "d",
        "Name a river.",
        fields={"other": ["The Po.", "652 km"]},
        turns=("And its length?",),
    )
    _, prompts = judged(
        lambda judge: PairwiseJudge(against="other", models={"judge": judge}),
        dialogue("The Elbe.", "1,094 km"),
        sample,
        reply=lambda prompt: '{"winner": "tie"}',
    )

    assert "CONVERSATION A, TURN 2, assistant\nThe Elbe." in prompts[0]
    assert "CONVERSATION B, TURN 2, assistant\nThe Po." in prompts[0]
    assert "ANSWER B\n652 km" in prompts[0]


def test_media_of_later_turns_belong_to_the_question():
    image = assay.Image(b"\x89PNG\r\n\x1a\n")
    sample = Sample("d", "First?", turns=([Text("And here?"), image],))

    assert question_media(sample) == (image,)


def test_rounds_are_last_or_all():
    with pytest.raises(
        UsageError, match="does not know rounds='some'; fix: rounds: one of last, all"
    ):
        Judge(rounds="some")


@pytest.mark.parametrize("history", ["model", "reference"])
def test_a_run_shows_its_judge_the_conversation_the_model_saw_also_when_it_is_scored_again(
    tmp_path, history
):
    (tmp_path / "ask.py").write_text(
        "def model(messages):\n    return f'answer {len(messages)}'\n"
        "def judge(messages):\n    return '{\"score\": 4}'\n"
    )
    task = assay.Task("rivers", dataset=[ROW], scorers=("judge",), history=history)
    judge, folder = f"{tmp_path / 'ask.py'}:judge", tmp_path / "run"
    assay.run(
        task,
        f"{tmp_path / 'ask.py'}:model",
        judges={"judge": judge},
        output=str(folder),
    )
    asked = _asked_of_the_judge(folder)

    again = task.but(scorers=({"name": "judge", "scale": "1-10"},))
    assay.run(
        again,
        f"{tmp_path / 'ask.py'}:model",
        judges={"judge": judge},
        output=str(folder),
    )

    earlier = "answer 1" if history == "model" else "The Rhine."
    for prompt in (asked[0], _asked_of_the_judge(folder)[-1]):
        assert (
            f"TURN 2, assistant\n{earlier}" in prompt and "ANSWER\nanswer 3" in prompt
        )


def _asked_of_the_judge(folder):
    records = list(RunReader(folder).outputs("rivers#judge"))
    return [record.prompt[-1]["content"] for record in records]


def test_messages_are_a_conversation_too():
    sample = Sample(
        "m",
        (
            Message.of("user", "Hi."),
            Message.of("assistant", "Hello."),
            Message.of("user", "Why?"),
        ),
    )

    (only,) = exchanges(sample, Output.of("Because."))

    assert (
        only.is_dialogue and only.question == "user: Hi.\nassistant: Hello.\nuser: Why?"
    )


def test_a_list_that_is_too_short_for_the_dialogue_says_which_round_it_lacks():
    sample = Sample(
        "d",
        "Name a river.",
        fields={"rival": ["The Elbe."]},
        turns=("And its length?",),
    )
    scorer = PairwiseJudge(against="rival", models={"judge": Listening()})

    score = asyncio.run(scorer(sample, dialogue("The Rhine.", "1,230 km")))

    assert (
        score.details["reason"]
        == "sample 'd' has no text or medium for round 2 in column 'rival'"
    )
