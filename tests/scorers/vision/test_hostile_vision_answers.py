"""No scorer of vision tasks raises or hangs, whatever a model wrote."""

import math
import time

import pytest
from fault_counts import COUNTS
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import Output, Sample
from assay.scorers.choice.yes_no import YesNo
from assay.scorers.image.rendered_text import OcrText
from assay.scorers.image.wise import WiseLegacy, WiseVerified
from assay.scorers.vision.anls import Anls, AnlsStar
from assay.scorers.vision.boxes import BoxIou
from assay.scorers.vision.caption import Caption
from assay.scorers.vision.ocrbench import OcrBench
from assay.scorers.vision.relaxed import RelaxedAccuracy
from assay.scorers.vision.vqa import VqaAccuracy

CASES = [
    (VqaAccuracy(), ("red", "blue", "red")),
    (RelaxedAccuracy(), "12"),
    (Anls(), "red"),
    (AnlsStar(), {"a": ["red", "12"]}),
    (OcrBench(), "red"),
    (YesNo(), "yes"),
    (YesNo("pope_official"), "no"),
    (Caption(), ("a red cat", "the cat")),
    (BoxIou(), (0, 0, 10, 10)),
    (OcrText(), "red"),
    (WiseLegacy(), None),
    (WiseVerified(), None),
]
NASTY = [
    *("", " ", "\x00", "\ud800", "‮אבג", "🙂👩‍👩‍👧‍👦", "!?.,;:", "nan", "inf", "-inf"),
    *("1e999", "%", "[", "{", "[nan,1,2,3]", "'", '"'),
]
LONG = [
    "a",
    "9",
    "+",
    "-",
    ".",
    " ",
    "[",
    "{",
    "(",
    "1,",
    "[1 ",
    "a+",
    "'s",
    "consistency",
    "<a",
    "[[1,",
    "yes ",
]


def label(case):
    return type(case[0]).__name__


def check(case, answer):
    scorer, target = case
    score = scorer(Sample(id="a", target=target), Output.of(answer))
    values = score.value.values() if isinstance(score.value, dict) else [score.value]
    assert all(
        value is None or (math.isfinite(value) and 0 <= value <= 1) for value in values
    )


@pytest.mark.parametrize("case", CASES, ids=label)
def test_a_nasty_answer_gives_a_score_in_range(case):
    for answer in NASTY:
        check(case, answer)


@pytest.mark.parametrize("case", CASES, ids=label)
@settings(max_examples=60, deadline=None)
@given(answer=st.text(st.characters(), max_size=60))
def test_any_text_gives_a_score_in_range(case, answer):
    check(case, answer)


@pytest.mark.parametrize("case", CASES, ids=label)
@pytest.mark.faults
def test_a_long_hostile_answer_is_scored_in_seconds(case):
    for piece in LONG:
        started = time.process_time()
        check(case, piece * (COUNTS.hostile_characters // 2 // len(piece)))
        assert (
            time.process_time() - started < 0.25 + COUNTS.hostile_characters / 100_000
        ), piece
