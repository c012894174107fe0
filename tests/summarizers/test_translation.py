"""Corpus BLEU and chrF from stored counts, against sacreBLEU itself."""

import random
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from assay.core import Output, Sample, ScoreRecord
from assay.scorers.text.translation import Bleu, Chrf
from assay.summarizers.text_corpora import (
    bleu,
    chrf,
    corpus_bleu_from,
    corpus_chrf_from,
)

sacrebleu = pytest.importorskip("sacrebleu", reason="sacrebleu is not installed")

REFERENCES = [
    ["The dog bit the man.", "It was not unexpected.", "The man bit him first."],
    [
        "The dog had bit the man.",
        "No one was surprised.",
        "The man had bitten the dog.",
    ],
]
SYSTEM = [
    "The dog bit the man.",
    "It wasn't surprising.",
    "The man had just bitten him.",
]
CONTEXT = SimpleNamespace(
    task="t", model="m", protocol="t", scorer="bleu", n_expected=3, seed=1
)


def record(index, score, **fields):
    return ScoreRecord(
        "t",
        "m",
        str(index),
        "bleu",
        "d",
        {"value": score.value},
        str(score.outcome),
        details=score.details,
        **fields,
    )


def records(scorer, answers=SYSTEM, references=REFERENCES):
    samples = [
        Sample(id=str(i), target=tuple(group))
        for i, group in enumerate(zip(*references, strict=True))
    ]
    return [
        record(s.id, scorer(s, Output.of(answer)))
        for s, answer in zip(samples, answers, strict=True)
    ]


def sums(made):
    return np.array([one.details["stats"] for one in made], float).sum(
        axis=0, keepdims=True
    )


def test_the_readme_example_of_sacrebleu_comes_out_with_its_signature():
    (result,) = bleu(records(Bleu()), CONTEXT)

    assert result.value == pytest.approx(48.530827, abs=1e-6)
    version = sacrebleu.__version__
    assert (
        result.details["signature"]
        == f"nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:{version}"
    )
    metric = sacrebleu.BLEU()
    metric.corpus_score(SYSTEM, REFERENCES)
    assert result.details["signature"] == str(metric.get_signature())
    assert result.ci is not None
    assert result.ci[0] <= result.value <= result.ci[1]


def test_one_reference_gives_the_published_value():
    (result,) = bleu(records(Bleu(), references=REFERENCES[:1]), CONTEXT)

    assert result.value == pytest.approx(45.067506, abs=1e-6)


@pytest.mark.parametrize(
    ("word_order", "name", "value"), [(0, "chrf2", 59.73), (2, "chrf2++", 59.15)]
)
def test_chrf_and_chrf_plus_plus_give_the_published_values(word_order, name, value):
    (result,) = chrf(records(Chrf(word_order=word_order)), CONTEXT)

    metric = sacrebleu.CHRF(word_order=word_order)
    theirs = metric.corpus_score(SYSTEM, REFERENCES)
    assert result.metric == name
    assert result.value == pytest.approx(value, abs=5e-3)
    assert result.value == pytest.approx(theirs.score, abs=1e-9)
    assert result.details["signature"] == str(metric.get_signature())


def test_pooled_values_equal_sacrebleu_on_random_corpora():
    rng = random.Random(3)
    words = ["the", "cat", "sat", "on", "a", "mat", ".", "dog,"]
    for _ in range(300):
        size = rng.randint(1, 5)
        answers = [
            " ".join(rng.choices(words, k=rng.randint(0, 7))) for _ in range(size)
        ]
        references = [
            [" ".join(rng.choices(words, k=rng.randint(1, 7))) for _ in range(size)]
            for _ in range(2)
        ]

        ours_bleu = corpus_bleu_from(sums(records(Bleu(), answers, references)))[0]
        ours_chrf = corpus_chrf_from(
            sums(records(Chrf(word_order=2), answers, references))
        )[0]

        assert ours_bleu == pytest.approx(
            sacrebleu.corpus_bleu(answers, references).score, abs=1e-9
        )
        assert ours_chrf == pytest.approx(
            sacrebleu.corpus_chrf(answers, references, word_order=2).score, abs=1e-9
        )


def test_the_corpus_value_does_not_depend_on_the_order_of_the_samples():
    made = records(Bleu())

    (forward,), (backward,) = bleu(made, CONTEXT), bleu(made[::-1], CONTEXT)

    assert forward.value == backward.value


def test_a_failed_sample_is_counted_and_flagged_but_not_pooled():
    failed = ScoreRecord("t", "m", "9", "bleu", "d", {"value": None}, "model_error")

    (result,) = bleu([*records(Bleu()), failed], CONTEXT)

    assert (result.n, result.outcomes) == (3, {"scored": 3, "model_error": 1})
    assert result.flags == (
        "unresolved 25.0%: in doubt",
        "interval unreliable: 3 samples",
    )


def test_without_any_counts_there_is_no_value_and_no_interval():
    (result,) = bleu(
        [ScoreRecord("t", "m", "9", "bleu", "d", {}, "model_error")], CONTEXT
    )

    assert (result.value, result.ci, result.interval) == (
        None,
        None,
        "none: no sample has counts",
    )


def test_tags_break_the_value_down():
    made = records(Bleu())
    tagged = [
        replace(one, tags={"half": "a" if i < 2 else "b"}) for i, one in enumerate(made)
    ]

    (result,) = bleu(tagged, CONTEXT)

    assert {value: group.n for value, group in result.groups["half"].items()} == {
        "a": 2,
        "b": 1,
    }
    assert result.groups["half"]["b"].interval == "none: one sample"


def test_epochs_of_one_sample_are_drawn_together():
    made = records(Bleu())

    (result,) = bleu([*made, *made], CONTEXT)

    assert (result.n, result.clusters) == (3, 3)


def test_scores_made_with_different_tokenizers_are_not_pooled():
    with pytest.raises(ValueError, match="different settings"):
        list(bleu([*records(Bleu()), *records(Bleu(tokenize="char"))], CONTEXT))


def test_a_varying_number_of_references_is_in_the_signature():
    mixed = [*records(Bleu())[:2], *records(Bleu(), references=REFERENCES[:1])[2:]]

    (result,) = bleu(mixed, CONTEXT)

    assert result.details["signature"].startswith("nrefs:var|")


def test_empty_sums_are_zero_and_perfect_ones_are_a_hundred():
    perfect = np.array(
        [[6, 6, 6, 5, 4, 3, 6, 5, 4, 3], [0] * 10, [6, 6, 0, 0, 0, 0, 6, 5, 4, 3]],
        float,
    )

    assert corpus_bleu_from(perfect) == pytest.approx([100.0, 0.0, 0.0])
    assert corpus_chrf_from(
        np.array([[5, 5, 5] * 6, [0] * 18], float)
    ) == pytest.approx([100.0, 0.0])


def test_two_thousand_resamples_of_ten_thousand_sentences_take_seconds_not_minutes():
    rng = random.Random(0)
    made = [
        ScoreRecord(
            "t",
            "m",
            str(i),
            "bleu",
            "d",
            {},
            "scored",
            details={"stats": [9, 9, 7, 5, 3, 2, 9, 8, 7, 6]},
        )
        for i in range(10_000)
    ]
    for one in made:
        one.details["stats"][2] = rng.randint(0, 9)
    started = time.process_time()

    (result,) = bleu(made, CONTEXT)

    assert result.ci is not None
    assert time.process_time() - started < 10
