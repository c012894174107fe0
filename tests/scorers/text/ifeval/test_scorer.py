"""IFEval as a scorer: values by prompt, counts by instruction."""

import importlib.util

import pytest

from assay.core import MissingExtra, Outcome, Output, Sample
from assay.scorers.text.ifeval.ifeval_verdict import IfEval

FIELDS = {
    "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
    "kwargs": [{}, {"relation": "at least", "num_words": 3}],
}


@pytest.fixture(autouse=True)
def _needs_langdetect():
    pytest.importorskip("langdetect")


def test_a_prompt_counts_only_when_all_its_instructions_are_followed():
    score = IfEval()(Sample("a", fields=FIELDS), Output.of("no commas"))

    assert score.value == {"prompt_strict": 0.0, "prompt_loose": 0.0}
    assert (score.details["asked"], score.details["strict"]) == (2, 1)
    assert score.details["each_strict"] == [
        ("punctuation:no_comma", True),
        ("length_constraints:number_words", False),
    ]


def test_an_empty_truncated_answer_still_counts_its_instructions():
    score = IfEval()(Sample("a", fields=FIELDS), Output.of("", stop_reason="length"))

    assert (score.outcome, score.details["asked"], score.details["loose"]) == (
        Outcome.TRUNCATED,
        2,
        0,
    )


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"instruction_id_list": ["no:such"], "kwargs": [{}]},
        {"instruction_id_list": ["a"], "kwargs": []},
    ],
)
def test_a_row_without_usable_instructions_is_a_fault_of_the_data(fields):
    assert (
        IfEval()(Sample("a", fields=fields), Output.of("text")).outcome
        == Outcome.DATA_ERROR
    )


def test_a_missing_library_is_found_before_the_run(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(MissingExtra, match=r"langdetect.*pip install"):
        IfEval()
