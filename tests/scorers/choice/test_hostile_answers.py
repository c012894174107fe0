"""No text scorer raises, hangs or listens to the environment, whatever a model wrote."""

import math
import time

import pytest
from fault_counts import COUNTS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.core import Outcome, Output, Sample, Score
from assay.scorers.choice.choice import Choice
from assay.scorers.math.numbers import Gsm8k, NumberMatch
from assay.scorers.text.match import ExactMatch, Includes, QuasiExactMatch, Regex
from assay.scorers.text.translation import Bleu, Chrf
from assay.scorers.text.word_overlap import Rouge, TokenF1

SCORERS = [
    ExactMatch(),
    ExactMatch(ignore_case=True),
    QuasiExactMatch(),
    QuasiExactMatch(tokens="cjk"),
    Includes(),
    Regex(r"answer: (\w+)", group=1),
    TokenF1(),
    TokenF1(tokens="cjk"),
    Choice(letters="ABCD"),
    Gsm8k(),
    NumberMatch(),
    Rouge(),
    Rouge(words="cjk", lsum=True),
    Bleu(),
    Bleu(tokenize="zh"),
    Chrf(word_order=2),
]
LIBRARIES = {Rouge: "rouge_score", Bleu: "sacrebleu", Chrf: "sacrebleu"}
NASTY = [
    "",
    " ",
    "\x00",
    "\ud800",
    "\udfff text \ud800",
    "‮אבג",
    "🙂👩‍👩‍👧‍👦",
    "!?.,;:",
    "。，！？",
    "-",
    "$",
    "#### ",
    "#### -",
    "....",
    "\n\n\r\n",
    "nan inf -inf 1e999 1/0",
    "é" * 3,
]
LONG = [
    piece * (COUNTS.hostile_characters // len(piece))
    for piece in ("a", "9", "1,", "#### ", "(")
]


def needs(scorer):
    library = LIBRARIES.get(type(scorer))
    if library:
        pytest.importorskip(library, reason=f"{library} is not installed")


def check(score, scorer):
    assert isinstance(score, Score)
    values = (
        list(score.value.values()) if isinstance(score.value, dict) else [score.value]
    )
    low, high = getattr(scorer, "bounds", (0.0, 1.0))
    assert all(
        value is None or (math.isfinite(value) and low <= value <= high)
        for value in values
    )


def label(scorer):
    return repr(scorer)[:40]


@pytest.mark.parametrize("scorer", SCORERS, ids=label)
def test_a_nasty_answer_or_target_gives_a_score_in_range(scorer):
    needs(scorer)
    for answer in NASTY:
        for target in ("A", answer, ("A", answer)):
            check(scorer(Sample(id="a", target=target), Output.of(answer)), scorer)


@pytest.mark.parametrize("scorer", SCORERS, ids=label)
@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    answer=st.text(st.characters(), max_size=60),
    target=st.text(st.characters(), max_size=20),
)
def test_any_text_gives_a_score_in_range(scorer, answer, target):
    needs(scorer)
    check(scorer(Sample(id="a", target=target), Output.of(answer)), scorer)


@pytest.mark.parametrize("scorer", SCORERS, ids=label)
def test_a_long_hostile_answer_is_scored_in_seconds(scorer):
    needs(scorer)
    sample = Sample(id="a", target="A")
    scorer(sample, Output.of("A"))  # what it imports is not the answer's fault
    for answer in LONG:
        started = time.process_time()
        check(scorer(sample, Output.of(answer)), scorer)
        assert (
            time.process_time() - started < 0.25 + COUNTS.hostile_characters / 100_000
        )


@pytest.mark.parametrize(
    "scorer",
    [s for s in SCORERS if not isinstance(s, (Regex, Choice, NumberMatch))],
    ids=label,
)
def test_the_target_itself_is_the_best_answer(scorer):
    needs(scorer)
    for target in ("Paris is 42 km away #### 42", "the cat sat on the mat\n#### 7"):
        score = scorer(Sample(id="a", target=target), Output.of(target))

        values = (
            score.value if isinstance(score.value, dict) else {"value": score.value}
        )
        assert values == pytest.approx(
            dict.fromkeys(values, getattr(scorer, "bounds", (0.0, 1.0))[1])
        )


def test_no_variable_of_the_environment_changes_an_extraction(monkeypatch):
    sample = Sample(id="a", target="A", choices=("cat", "dog"))
    plain = Choice()(sample, Output.of("So my final answer: A"))

    for name in ("VERBOSE", "DEBUG", "LANG", "LC_ALL", "PYTHONHASHSEED"):
        monkeypatch.setenv(name, "1")

    assert Choice()(sample, Output.of("So my final answer: A")) == plain
    assert plain.outcome is Outcome.SCORED
