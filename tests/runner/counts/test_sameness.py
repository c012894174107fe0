"""Models that answer every sample alike, or not at all: said under the table and counted, however well they score."""

import json
from dataclasses import replace
from typing import ClassVar

import pytest

import assay
from assay.core import (
    Abilities,
    Candidate,
    Image,
    Json,
    Likelihood,
    Message,
    Output,
    Prompt,
    Reasoning,
    Sample,
    Text,
)
from assay.runner.ask import asking
from assay.runner.counts.remarks import Sameness
from assay.store import RunReader

NOTHING = "warning: qa: Saying said nothing ({}) to any of {} samples"
SAME = "warning: qa: Saying gave all {} samples the same answer ({}), whatever they ask"


class Saying:
    """Says what it is told to, whatever it is asked."""

    abilities = Abilities()
    identity: ClassVar = {"saying": 1}

    def __init__(self, says):
        self.says = says if callable(says) else lambda _: says

    def generate(self, requests):
        return [Output.of(self.says(request.messages[-1].text)) for request in requests]


def rows(count, answer=lambda at: str(at)):
    return [
        {"id": f"s{at}", "question": f"q{at}", "answer": answer(at)}
        for at in range(count)
    ]


def run(folder, says, data, **more):
    return assay.run(
        assay.Task("qa", data, **more), Saying(says), output=str(folder / "run")
    )


def flagged(done):
    return [note for note in done.notes if note.startswith("warning: qa:")]


@pytest.mark.parametrize("nothing", ["", "null", "None", " \n", '"null"', "none."])
def test_answers_that_say_nothing_are_flagged(tmp_path, nothing):
    done = run(tmp_path, nothing, rows(3))

    [note] = flagged(done)
    assert note.startswith(NOTHING.format(repr(nothing), 3)) and "\n" not in note
    [usage] = RunReader(tmp_path / "run").summary["usage"].values()
    assert (
        usage["same_answers"] == 3
        and note in RunReader(tmp_path / "run").summary["notes"]
    )


def test_different_ways_of_saying_nothing_are_one(tmp_path):
    done = run(
        tmp_path, lambda text: {"q0": "null", "q1": "", "q2": "None"}[text], rows(3)
    )

    assert flagged(done)[0].startswith(NOTHING.format("'null'", 3))


def test_one_answer_to_everything_is_flagged(tmp_path):
    done = run(tmp_path, "A", rows(10))

    assert flagged(done) == [SAME.format(10, "'A'")]


@pytest.mark.parametrize(
    ("says", "data"),
    [
        ("A", rows(9)),
        ("yes", rows(12, lambda _: "yes")),
        ("null", rows(12, lambda _: "null")),
        ("null", rows(1)),
        (lambda text: "null" if text != "q7" else "7", rows(12)),
    ],
    ids=[
        "too few",
        "as all targets are",
        "null where null is right",
        "one sample",
        "all but one",
    ],
)
def test_what_may_be_right_or_chance_is_not_flagged(tmp_path, says, data):
    done = run(tmp_path, says, data)

    assert flagged(done) == []
    assert "same_answers" not in next(
        iter(RunReader(tmp_path / "run").summary["usage"].values())
    )


def test_answers_without_a_meaning_are_flagged_though_a_judge_likes_them(tmp_path):
    data = [{"id": f"s{at}", "question": f"q{at}"} for at in range(3)]

    def likes(sample, output):
        return 1.0

    done = run(tmp_path, "null", data, scorers=(likes,))

    assert done.results[0].value == 1.0
    assert flagged(done)[0].startswith(NOTHING.format("'null'", 3))


def test_answers_of_an_earlier_run_count(tmp_path):
    before = run(tmp_path, "A", rows(6))

    done = run(tmp_path, "A", rows(12))

    assert flagged(before) == [] and flagged(done) == [SAME.format(12, "'A'")]


def test_answers_of_an_earlier_run_are_read_until_two_differ(tmp_path, monkeypatch):
    run(tmp_path, lambda text: text, rows(6))
    read, usual = [], asking.output_from_plain
    monkeypatch.setattr(
        asking, "output_from_plain", lambda *given: read.append(given) or usual(*given)
    )

    done = run(tmp_path, lambda text: text, rows(12))

    assert flagged(done) == [] and len(read) == 2


def test_a_run_that_only_scores_says_it_too(tmp_path):
    (tmp_path / "qa.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for row in rows(4))
    )
    (tmp_path / "model.py").write_text("def generate(messages):\n    return 'null'\n")
    model = f"{tmp_path}/model.py:generate"
    assay.run(str(tmp_path / "qa.jsonl"), model, output=str(tmp_path / "run"))

    again = assay.score(str(tmp_path / "run"))

    assert flagged(again)[0].startswith(
        f"warning: qa: {model} said nothing ('null') to any of 4 samples"
    )


def test_what_a_driver_asks_is_inspected_as_well(tmp_path):
    def driver(engine):
        engine.generate(
            [Prompt((Message.of("user", f"q{at}"),)) for at in range(5)],
            ids=[f"s{at}" for at in range(5)],
        )
        return {"asked": 5}

    done = run(tmp_path, "None", rows(1), driver=driver)

    assert flagged(done)[0].startswith(NOTHING.format("'None'", 5))


def counted(*outputs):
    sameness = Sameness()
    for at, output in enumerate(outputs):
        sameness.count(Sample(f"s{at}", target=str(at)), output)
    return list(sameness.lines("qa", "Saying")), sameness


def test_one_picture_for_every_prompt_is_flagged():
    lines, _ = counted(*[Output.of(Image(b"the same"))] * 10)
    others, _ = counted(*[Output.of(Image(b"%d" % at)) for at in range(10)])

    assert lines == [SAME.format(10, "one image")] and others == []


def test_structured_answers_are_compared_by_what_they_hold():
    lines, _ = counted(
        *[Output((Candidate((Json({"b": 1, "a": [at % 1]}),)),)) for at in range(10)]
    )
    empty, _ = counted(*[Output((Candidate((Json(None),)),))] * 2)

    assert len(lines) == 1 and len(empty) == 1 and "said nothing" in empty[0]


def test_thoughts_are_not_answer():
    outputs = [
        Output((Candidate((Reasoning(f"hm {at}"), Text("")), "length"),))
        for at in range(3)
    ]

    lines, _ = counted(*outputs)

    assert "said nothing ('') to any of 3 samples" in lines[0]


def test_failures_refusals_and_weights_say_nothing_about_it():
    weighed = Output(likelihoods=(Likelihood(-1.0),))
    refused = Output((Candidate((), "content_filter"),))
    failed = replace(Output.failed("timeout", "too late"), candidates=())

    lines, sameness = counted(*[weighed, refused, failed] * 5)

    assert lines == [] and sameness.to_plain() == {} and sameness.all_equal


def test_every_candidate_counts():
    lines, sameness = counted(*[Output.of("A", "A")] * 9, Output.of("A", "B"))

    assert lines == [] and not sameness.all_equal
