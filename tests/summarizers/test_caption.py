"""BLEU, ROUGE-L and CIDEr of a run, against coco-caption's values."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from summary_context import Context, record

from assay.core import Output, Sample
from assay.scorers.vision.caption import Caption
from assay.summarizers.caption_summary import Idf, caption, cider

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "caption_abstract48s"
IMAGES = [
    (
        "a man rides a horse on the beach",
        ["a man riding a horse on the beach", "a person rides a horse near the ocean"],
    ),
    (
        "a cat sitting on a chair",
        ["a cat sits on a red chair", "the cat is sitting on the chair"],
    ),
    (
        "two dogs are playing in the snow",
        ["two dogs play in the snow", "a pair of dogs playing outside in snow"],
    ),
]


def scored(pictures, tokenize="ptb"):
    records = []
    for number, (said, references) in enumerate(pictures):
        score = Caption(tokenize)(
            Sample(id=str(number), target=tuple(references)), Output.of(said)
        )
        records.append(
            record(str(number), score.value, str(score.outcome), details=score.details)
        )
    return records


def results(records):
    return {result.metric: result for result in caption(records, Context())}


def values(records):
    return {name: result.value for name, result in results(records).items()}


def sentence(text):
    return text.capitalize() + "."


def test_three_images_have_the_known_values():
    assert values(scored(IMAGES)) == pytest.approx(
        {
            "bleu1": 0.952381,
            "bleu2": 0.796819,
            "bleu3": 0.595936,
            "bleu4": 0.433373,
            "rouge_l": 0.804586,
            "cider": 3.054976,
        },
        abs=1e-6,
    )


def test_cider_of_each_image_has_the_known_value():
    weights = Idf([references for _, references in IMAGES])

    assert [
        cider(said, references, weights) for said, references in IMAGES
    ] == pytest.approx([4.054895, 2.498015, 2.612018], abs=1e-6)


@pytest.mark.parametrize(("tokenize", "value"), [("ptb", 3.054976), ("none", 3.027490)])
def test_capitals_and_dots_count_only_without_the_tokenizer(tokenize, value):
    written = [
        (sentence(said), [sentence(text) for text in references])
        for said, references in IMAGES
    ]

    assert values(scored(written, tokenize))["cider"] == pytest.approx(value, abs=1e-6)


def test_cider_of_one_image_is_refused():
    result = results(scored(IMAGES[:1]))["cider"]

    assert result.value is None
    assert result.interval.startswith("none: CIDEr of one image is always 0")
    assert result.flags == (result.interval.removeprefix("none: "),)


def test_epochs_of_one_image_are_still_one_image():
    again = scored(IMAGES[:1])

    assert results([*again, *again])["cider"].value is None


def test_a_missing_caption_lowers_every_value():
    whole, holed = (
        values(scored(IMAGES)),
        values(scored([*IMAGES[:2], ("", IMAGES[2][1])])),
    )

    assert all(holed[name] < whole[name] for name in ("rouge_l", "cider", "bleu1"))


def test_nothing_scored_has_no_value():
    assert set(values([]).values()) == {None}


@pytest.mark.skipif(
    not DATA.exists(),
    reason="shared/data/caption_abstract48s is not beside this checkout",
)
def test_real_captions_have_the_values_of_pycocoevalcap():
    """Computed once with pycocoevalcap 1.2 and its Java tokenizer: first candidate of each image, 48 references."""
    references = {}
    for row in json.loads((DATA / "refs_abstract48S.json").read_text()):
        references.setdefault(row["image_id"], []).append(row["caption"])
    candidates = {}
    for row in json.loads((DATA / "cands_abstract_B.json").read_text()):
        candidates.setdefault(row["image_id"], row["caption"])

    found = results(
        scored([(said, references[picture]) for picture, said in candidates.items()])
    )

    assert {name: result.value for name, result in found.items()} == pytest.approx(
        {
            "bleu1": 0.843081,
            "bleu2": 0.704723,
            "bleu3": 0.574146,
            "bleu4": 0.456543,
            "rouge_l": 0.648606,
            "cider": 0.709222,
        },
        abs=1e-6,
    )
    assert all(result.ci[0] < result.value < result.ci[1] for result in found.values())


WORDS = st.lists(
    st.sampled_from(["a", "man", "rides", "the", "horse", "dog"]),
    min_size=1,
    max_size=7,
).map(" ".join)


@settings(deadline=None, max_examples=10)
@given(
    st.lists(
        st.tuples(WORDS, st.lists(WORDS, min_size=1, max_size=3)),
        min_size=2,
        max_size=6,
    ),
    st.randoms(),
)
def test_the_order_of_images_does_not_matter(pictures, random):
    records = scored(pictures)

    one, other = values(records), values(random.sample(records, len(records)))

    assert one == pytest.approx(other)
    assert 0 <= one["cider"] <= 10 + 1e-9
    assert all(0 <= one[name] <= 1 for name in ("bleu1", "bleu4", "rouge_l"))


def test_a_reference_used_as_caption_has_the_highest_score():
    perfect = values(
        scored([(references[0], references[:1]) for _, references in IMAGES])
    )

    assert perfect == pytest.approx({**dict.fromkeys(perfect, 1.0), "cider": 10.0})
