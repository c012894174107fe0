"""Media models without shared prefixes: batches of similar prompts, and cached likelihoods."""

import pytest

from .tiny_media import ask, picture, plainly, sound, weigh, written

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "qwen2_audio", "janus"])
def test_likelihoods_are_those_of_the_whole_prompt(name, request):
    import torch

    model = plainly(request.getfixturevalue(name))
    medium = sound() if name == "qwen2_audio" else picture("red")
    options = ("A", "red", "a house")

    [output] = model.likelihood([weigh(medium, "What?", options=options)])

    loaded = model._loaded
    inputs = loaded.renderer.inputs(weigh(medium, "What?", options=options).prompt)
    length = inputs["input_ids"].shape[1]
    for text, found in zip(options, output.likelihoods, strict=True):
        ids = loaded.renderer.tokenizer.encode(text, add_special_tokens=False)
        logits = loaded.weigher.logits(inputs, ids)[length - 1 : -1]
        logprobs = torch.log_softmax(logits.float(), -1)
        expected = sum(logprobs[at, token].item() for at, token in enumerate(ids))
        assert found.logprob == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "qwen2_audio", "janus"])
def test_prompts_of_different_lengths_are_batched_without_changing_answers(
    name, request
):
    model = plainly(request.getfixturevalue(name))
    sees = name != "qwen2_audio"
    texts = ("What?", "What is it?", "And what is in it?", "Who?")
    media = [
        picture(c, s)
        for c, s in (
            ("red", (40, 30)),
            ("blue", (84, 84)),
            ("green", (40, 30)),
            ("red", (60, 60)),
        )
    ]
    asked = [
        ask(m if sees else sound(200 * (i + 1)), t)
        for i, (m, t) in enumerate(zip(media, texts, strict=True))
    ]
    alone = written([model.generate([one])[0] for one in asked])
    model.generate(asked)
    before = model.counted.passes

    together = model.generate(asked)

    assert model._loaded.plain.can_pad is True
    assert written(together) == alone
    assert model.counted.passes - before < 4 * 5
    lengths = [
        model._loaded.renderer.inputs(one.prompt)["input_ids"].shape[1] for one in asked
    ]
    assert [output.usage.input_tokens for output in together] == lengths


def test_model_that_does_not_support_padding_gets_batches_of_equal_length(
    llava, monkeypatch
):
    plainly(llava)
    asked = [ask(picture("red"), text) for text in ("What?", "What is it?")]
    alone = written([llava.generate([one])[0] for one in asked])
    usual = llava._ready().model.generate

    def deaf_to_masks(**given):
        return usual(
            **{
                **given,
                "attention_mask": given["attention_mask"].new_ones(
                    given["attention_mask"].shape
                ),
            }
        )

    monkeypatch.setattr(llava._loaded.model, "generate", deaf_to_masks)

    assert written(llava.generate(asked)) == alone
    assert llava._loaded.plain.can_pad is False
