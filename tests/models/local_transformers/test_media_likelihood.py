"""Likelihoods of letters after images, compared with transformers by hand."""

import json
import shutil

import pytest

from assay.core import Message, Prompt, Request, Sample
from assay.models.local_transformers import LocalTransformers
from assay.templates.likelihood import WeighedLetters

from .tiny_media import picture, plainly

pytestmark = pytest.mark.torch
OWN = [
    {"role": "system", "content": "Look well."},
    {
        "role": "user",
        "content": [
            "First: ",
            {"type": "image"},
            " Second: ",
            {"type": "image"},
            " {{ input }} A. one B. two",
        ],
    },
]
SIZES = {"red": (56, 56), "blue": (28, 56)}


def by_hand(model, pillows, letters):
    """Return summed log-probabilities from the processor's template and one pass per letter."""
    import torch

    loaded = model._loaded
    chat = [
        {"role": "system", "content": [{"type": "text", "text": "Look well."}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "First: "},
                {"type": "image"},
                {"type": "text", "text": " Second: "},
                {"type": "image"},
                {"type": "text", "text": " Which is red? A. one B. two"},
            ],
        },
    ]
    processor = loaded.renderer.processor
    template = (
        getattr(processor, "chat_template", None) or processor.tokenizer.chat_template
    )
    text = processor.tokenizer.apply_chat_template(
        chat, chat_template=template, tokenize=False, add_generation_prompt=True
    )
    found = []
    for letter in letters:
        inputs = processor(text=[text + letter], images=pillows, return_tensors="pt")
        with torch.inference_mode():
            logits = loaded.model(**inputs).logits[0]
        found.append(
            float(torch.log_softmax(logits[-2].float(), -1)[inputs["input_ids"][0, -1]])
        )
    return text, found


@pytest.mark.parametrize("name", ["llava", "qwen2_vl"])
def test_likelihoods_after_interleaved_images_equal_those_of_transformers(
    name, request
):
    model = request.getfixturevalue(name)
    images = tuple(picture(color, size) for color, size in SIZES.items())
    sample = Sample("a", "Which is red?", "A", ("one", "two"), media=images)
    prompt = WeighedLetters(OWN)(sample)

    [output] = model.likelihood([Request(prompt)])

    assert output.error is None, output.error
    text, expected = by_hand(model, [image.source for image in images], ["A", "B"])
    assert [found.logprob for found in output.likelihoods] == pytest.approx(
        expected, abs=1e-4
    )
    assert model._loaded.renderer.text(prompt) == text


def test_completion_has_the_models_placeholders_for_each_image(qwen2_vl):
    images = tuple(picture(color, size) for color, size in SIZES.items())
    prompt = Prompt(
        (Message.of("", *images, "Question: which? Answer:"),),
        continuations=(" A", " B"),
    )

    [output] = qwen2_vl.likelihood([Request(prompt)])

    assert output.error is None, output.error
    mark = "<|vision_start|><|image_pad|><|vision_end|>"
    assert (
        qwen2_vl._loaded.renderer.text(prompt)
        == f"{mark}{mark}Question: which? Answer:"
    )


def blank_first(make, path, folder, **changes):
    """Copy a model with a tokenizer that adds a space before a text, like that of Llama."""
    from tokenizers import pre_tokenizers

    shutil.copytree(path, folder)
    tokenizer = make.tokenizer("<image>", **changes)
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(
        add_prefix_space=True
    )
    tokenizer.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    names = config.keys() & {"image_token_id", "image_token_index"}
    config |= dict.fromkeys(names, tokenizer.convert_tokens_to_ids("<image>"))
    (folder / "config.json").write_text(json.dumps(config))
    return LocalTransformers(str(folder))


def joined_by_hand(model, text, pillows, letters, weighed):
    """Return log-probabilities with context and letter encoded together by the processor."""
    import torch

    loaded, found = model._loaded, []
    for letter in letters:
        inputs = loaded.renderer.processor(
            text=[text + letter], images=pillows or None, return_tensors="pt"
        )
        with torch.inference_mode():
            chances = torch.log_softmax(loaded.model(**inputs).logits[0].float(), -1)
        ids = inputs["input_ids"][0].tolist()
        found.append(
            sum(
                float(chances[at - 1, ids[at]])
                for at in range(len(ids) - weighed, len(ids))
            )
        )
    return found


@pytest.mark.parametrize("shares", [True, False])
@pytest.mark.parametrize("has_image", [True, False])
def test_letter_is_tokenized_together_with_its_prompt(
    llava, make, tmp_path, shares, has_image
):
    model = blank_first(make, llava.path, tmp_path / "blank")
    model = model if shares else plainly(model)
    image = [picture("red", (56, 56))] if has_image else []
    prompt = Prompt(
        (Message.of("user", *image, "Is it A or B?"),), continuations=("A", "B")
    )

    [output] = model.likelihood([Request(prompt)])

    text = model._loaded.renderer.text(prompt)
    expected = joined_by_hand(
        model, text, [one.source for one in image], ["A", "B"], weighed=1
    )
    assert text.endswith("assistant:")
    assert [found.logprob for found in output.likelihoods] == pytest.approx(
        expected, abs=1e-4
    )


@pytest.mark.parametrize("shares", [True, False])
def test_space_at_the_end_of_the_prompt_joins_the_letter(llava, make, tmp_path, shares):
    merges = [("\u0120", "A"), ("\u0120", "B")]
    model = blank_first(make, llava.path, tmp_path / "blank", merges=merges)
    model = model if shares else plainly(model)
    images = [picture("red", (56, 56)), picture("blue", (28, 56))]
    prompt = Prompt(
        (Message.of("", *images, "Is it A or B? Answer: "),), continuations=("A", "B")
    )

    [output] = model.likelihood([Request(prompt)])

    text = model._loaded.renderer.text(prompt)
    expected = joined_by_hand(
        model, text, [one.source for one in images], ["A", "B"], weighed=1
    )
    assert [found.logprob for found in output.likelihoods] == pytest.approx(
        expected, abs=1e-4
    )
    assert [found.tokens for found in output.likelihoods] == [1, 1]
