"""The common sets of questions with options: rows of each format, and the way each is measured."""

import pytest

import assay
from assay.benchmarks.text_tasks import ending, labelled, solution
from assay.core import Abilities, Likelihood, Output
from assay.core.errors import DataError

NAMES = (
    "mmlu",
    "arc_challenge",
    "arc_easy",
    "hellaswag",
    "openbookqa",
    "commonsense_qa",
    "piqa",
)


class Longest:
    """Holds the longest continuation most probable; keeps what it was asked."""

    abilities = Abilities(likelihood=True)

    def __init__(self):
        self.identity = {"longest": 1}
        self.asked = []

    def likelihood(self, requests):
        self.asked += [request.prompt for request in requests]
        return [
            Output(
                likelihoods=tuple(
                    Likelihood(-1.0 / len(c)) for c in r.prompt.continuations
                )
            )
            for r in requests
        ]

    def generate(self, requests):
        raise AssertionError("it was to weigh")


@pytest.mark.parametrize("name", NAMES)
def test_every_mini_set_runs_by_letter_and_by_likelihood(name, tmp_path):
    says_a = {"model_args": {"answers": "A"}, "measure": "letter"}
    written = assay.run(
        name, "scripted", data="mini", output=str(tmp_path / "a"), **says_a
    )
    weighed = assay.run(name, Longest(), data="mini", output=str(tmp_path / "b"))

    assert {r.protocol.rpartition("-")[0] for r in written.results} == {
        f"{name}@letter+mini"
    }
    kind = "letter" if name in ("mmlu", "commonsense_qa") else "text"
    assert {r.protocol.rpartition("-")[0] for r in weighed.results} == {
        f"{name}@{kind}_likelihood+mini"
    }
    assert all(
        r.n == r.n_expected and r.n >= 4 for r in (*written.results, *weighed.results)
    )
    assert 0 < written.results[0].value < 1


def test_hellaswag_weighs_endings_right_after_the_beginning(tmp_path):
    model = Longest()

    assay.run("hellaswag", model, data="mini", limit=1, output=str(tmp_path / "run"))

    [prompt] = model.asked
    assert prompt.text == "A woman cracks two eggs into a hot pan. She"
    assert prompt.continuations[0] == " stirs them and adds some salt."


def test_arc_weighs_texts_after_the_bare_question(tmp_path):
    model = Longest()

    assay.run("arc_easy", model, data="mini", limit=1, output=str(tmp_path / "run"))

    [prompt] = model.asked
    assert prompt.text == "Question: What do bees collect from flowers?\nAnswer:"
    assert prompt.continuations == (" Nectar", " Sand", " Ice", " Iron")


def test_mmlu_weighs_letters_after_the_listed_options(tmp_path):
    model = Longest()

    assay.run("mmlu", model, data="mini", limit=1, output=str(tmp_path / "run"))

    [prompt] = model.asked
    assert "B. The heart" in prompt.text and prompt.text.endswith("\nAnswer:")
    assert prompt.continuations == (" A", " B", " C", " D")


def test_labels_that_are_digits_become_letters():
    row = {
        "id": "x",
        "question": "Q",
        "choices": {"text": ["a", "b", "c"], "label": ["1", "2", "3"]},
        "answerKey": "3",
    }

    assert labelled(row).target == "C"


@pytest.mark.parametrize(
    ("read", "row", "words"),
    [
        (
            labelled,
            {
                "question": "Q",
                "choices": {"text": ["a"], "label": ["A"]},
                "answerKey": "E",
            },
            "none of the",
        ),
        (
            ending,
            {"ctx": "c", "endings": ["a", "b"], "label": "4"},
            "option 4 and there are 2",
        ),
        (
            solution,
            {"goal": "g", "sol1": "a", "sol2": "b", "label": -1},
            "option -1 and there are 2",
        ),
    ],
    ids=("labels", "endings", "ways"),
)
def test_an_answer_that_is_not_an_option_is_a_fault_of_the_row(read, row, words):
    with pytest.raises(DataError, match=words):
        read(row)
