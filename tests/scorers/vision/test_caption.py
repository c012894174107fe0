"""Single captions: ROUGE-L and the counts of BLEU, as coco-caption has them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import Candidate, Outcome, Output, Sample, ScorerError, UsageError
from assay.scorers.vision import caption
from assay.scorers.vision.caption import Caption, Spice, bleu_counts, rouge_l

WORDS = st.lists(
    st.sampled_from(["a", "man", "rides", "the", "horse", "on", "beach"]), max_size=8
)


@pytest.mark.parametrize(
    ("said", "references", "value"),
    [
        (
            "a man rides a horse on the beach",
            [
                "a man riding a horse on the beach",
                "a person rides a horse near the ocean",
            ],
            0.875,
        ),
        (
            "a cat sitting on a chair",
            ["a cat sits on a red chair", "the cat is sitting on the chair"],
            0.758706,
        ),
        (
            "two dogs are playing in the snow",
            ["two dogs play in the snow", "a pair of dogs playing outside in snow"],
            0.780051,
        ),
    ],
)
def test_rouge_l_of_one_caption_is_that_of_coco_caption(said, references, value):
    score = Caption()(
        Sample(id="a", target=tuple(references)), Output.of(said.capitalize() + ".")
    )

    assert score.value["rouge_l"] == pytest.approx(value, abs=1e-6)


def test_bleu_counts_are_clipped_by_the_reference_that_has_most():
    counts = bleu_counts(
        ["the", "the", "the"], [["the", "cat"], ["the", "the", "dog", "sat"]]
    )

    assert counts == [3, 2, 3, 2, 1, 0, 2, 1, 0, 0]


def test_a_missing_caption_keeps_its_counts():
    score = Caption()(
        Sample(id="a", target="a cat"), Output((Candidate((), "length"),))
    )

    assert score.outcome is Outcome.TRUNCATED
    assert score.details["bleu"][:2] == [0, 2]


def test_a_sample_without_reference_is_a_fault_of_the_data():
    assert Caption()(Sample(id="a"), Output.of("x")).outcome is Outcome.DATA_ERROR


def test_an_unknown_tokenizer_is_refused():
    with pytest.raises(UsageError, match="does not know tokenize='spacy'"):
        Caption(tokenize="spacy")


@settings(deadline=None)
@given(WORDS, st.lists(WORDS, min_size=1, max_size=4), st.randoms())
def test_the_order_of_references_does_not_matter(said, references, random):
    mixed = random.sample(references, len(references))

    assert 0.0 <= rouge_l(said, references) <= 1.0
    assert rouge_l(said, references) == rouge_l(said, mixed)
    assert bleu_counts(said, references) == bleu_counts(said, mixed)


@settings(deadline=None)
@given(WORDS)
def test_a_reference_as_caption_is_perfect(words):
    assert rouge_l(words, [words, ["other"]]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("script", "seconds", "reason"),
    [
        (
            "exec sleep 60",
            0.1,
            "SPICE did not end within 0.1 s for 1 captions.*--limit N",
        ),
        ("echo no memory; exit 3", 60, "SPICE ended with code 3: no memory"),
        ("echo nothing to do", 60, "SPICE wrote no scores: nothing to do"),
    ],
)
def test_a_failure_of_spice_is_described(
    tmp_path, monkeypatch, script, seconds, reason
):
    monkeypatch.setattr(Spice, "_command", lambda self: ["sh", "-c", script])
    monkeypatch.setattr(Spice, "_place", lambda self: tmp_path)
    monkeypatch.setattr(caption, "SECONDS", seconds)
    rows = [(Sample(id="a", target="a cat"), Output.of("a cat"))]

    with pytest.raises(ScorerError, match=reason):
        Spice().score_all(rows)
