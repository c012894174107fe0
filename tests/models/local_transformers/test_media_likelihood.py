"""Letters weighed after images: as transformers computes them over the model's own chat template, by hand."""

import pytest

from assay.core import Message, Prompt, Request, Sample
from assay.templates.weighed import WeighedLetters

from .tiny_media import picture

pytestmark = pytest.mark.torch
OWN = [
    {"role": "system", "content": "Look well."},
    {
        "role": "user",
        "content": ["First: ", {"type": "image"}, " Second: ", {"type": "image"}, " {{ input }} A. one B. two"],
    },
]
SIZES = {"red": (56, 56), "blue": (28, 56)}


def by_hand(model, pillows, letters):
    """Sums of log-probabilities, from the processor's template and one forward pass for each letter."""
    import torch

    loaded = model._loaded
    chat = [
        {"role": "system", "content": [{"type": "text", "text": "Look well."}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "First: "}, {"type": "image"}, {"type": "text", "text": " Second: "},
                {"type": "image"}, {"type": "text", "text": " Which is red? A. one B. two"},
            ],
        },
    ]  # fmt: skip
    processor = loaded.renderer.processor
    template = getattr(processor, "chat_template", None) or processor.tokenizer.chat_template
    text = processor.tokenizer.apply_chat_template(
        chat, chat_template=template, tokenize=False, add_generation_prompt=True
    )
    found = []
    for letter in letters:
        inputs = processor(text=[text + letter], images=pillows, return_tensors="pt")
        with torch.inference_mode():
            logits = loaded.model(**inputs).logits[0]
        found.append(float(torch.log_softmax(logits[-2].float(), -1)[inputs["input_ids"][0, -1]]))
    return text, found


@pytest.mark.parametrize("name", ["llava", "qwen2_vl"])
def test_letters_after_two_interleaved_images_weigh_what_transformers_says(name, request):
    model = request.getfixturevalue(name)
    images = tuple(picture(color, size) for color, size in SIZES.items())
    sample = Sample("a", "Which is red?", "A", ("one", "two"), media=images)
    prompt = WeighedLetters(OWN)(sample)

    [output] = model.likelihood([Request(prompt)])

    assert output.error is None, output.error
    text, expected = by_hand(model, [image.source for image in images], ["A", "B"])
    assert [found.logprob for found in output.likelihoods] == pytest.approx(expected, abs=1e-4)
    assert model._loaded.renderer.text(prompt) == text


def test_a_completion_has_the_models_own_marks_around_each_image(qwen2_vl):
    images = tuple(picture(color, size) for color, size in SIZES.items())
    prompt = Prompt((Message.of("", *images, "Question: which? Answer:"),), continuations=(" A", " B"))

    [output] = qwen2_vl.likelihood([Request(prompt)])

    assert output.error is None, output.error
    mark = "<|vision_start|><|image_pad|><|vision_end|>"
    assert qwen2_vl._loaded.renderer.text(prompt) == f"{mark}{mark}Question: which? Answer:"
