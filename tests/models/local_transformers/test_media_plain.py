"""Models that see and hear and share no beginnings: prompts that are alike together, and going on from what is kept."""

import pytest

from assay.models.local_transformers import LocalTransformers

from .tiny_media import ask, picture, plainly, sound, weigh, written

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "qwen2_audio", "janus"])
def test_a_prompt_with_media_is_computed_once_for_all_that_may_follow(name, request):
    import torch

    model = plainly(request.getfixturevalue(name))
    medium = sound() if name == "qwen2_audio" else picture("red")
    options = ("A", "red", "a house")
    model.likelihood([weigh(medium, "Tried?", options=options)])
    before = model.counted.tokens

    [output] = model.likelihood([weigh(medium, "What?", options=options)])

    loaded = model._loaded
    inputs = loaded.renderer.inputs(weigh(medium, "What?", options=options).prompt)
    length = inputs["input_ids"].shape[1]
    assert loaded.weigher.keeps is True
    # The last token of an option is only predicted.
    assert model.counted.tokens - before == length + len("re") + len("a hous")
    for text, found in zip(options, output.likelihoods, strict=True):
        ids = loaded.renderer.tokenizer.encode(text, add_special_tokens=False)
        logprobs = torch.log_softmax(
            loaded.weigher.logits(inputs, ids)[length - 1 : -1].float(), -1
        )
        assert found.logprob == pytest.approx(
            sum(logprobs[at, token].item() for at, token in enumerate(ids)), abs=1e-4
        )


def test_a_model_that_cannot_go_on_from_what_it_keeps_is_asked_whole(
    llava, monkeypatch
):
    request = weigh(picture("red"), "What?", options=("red", "blue"))
    [usual] = llava.likelihood([request])
    other = plainly(LocalTransformers(llava.path))

    def lost(*_):
        raise NotImplementedError("keeps nothing")

    monkeypatch.setattr(other._ready().weigher, "_further", lost)
    [whole] = other.likelihood([request])

    assert other._loaded.weigher.keeps is False
    for one, again in zip(usual.likelihoods, whole.likelihoods, strict=True):
        assert one.logprob == pytest.approx(again.logprob, abs=1e-4)


@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "qwen2_audio", "janus"])
@pytest.mark.parametrize("options", [("A", "B"), ("red", "a house")])
def test_what_questions_about_the_same_medium_begin_with_is_computed_once(
    name, options, request
):
    model = plainly(request.getfixturevalue(name))
    media = (
        [sound(300), sound(900)]
        if name == "qwen2_audio"
        else [picture("red"), picture("blue")]
    )
    model.likelihood(
        [
            weigh(media[0], text, options=("ab", "cd"))
            for text in ("Tried?", "Tried again?")
        ]
    )
    asked = [
        weigh(medium, text, options=options)
        for text in ("Which one?", "What is that?")
        for medium in media
    ]
    alone = [model.likelihood([one])[0] for one in asked]
    before = model.counted.tokens

    together = model.likelihood(asked)

    loaded = model._loaded
    assert loaded.weigher.keeps is True
    lengths = [
        loaded.renderer.inputs(one.prompt)["input_ids"].shape[1] for one in asked
    ]
    behind = sum(len(option) - 1 for option in options)
    # Sorted, "What" comes before "Which": of the second question, "ich one?" and all that follows it is left.
    again = len("ich one?") + len(rest(loaded, asked[0].prompt))
    assert (
        model.counted.tokens - before
        == lengths[2] + lengths[3] + 2 * again + 4 * behind
    )
    for one, other in zip(together, alone, strict=True):
        assert [f.logprob for f in one.likelihoods] == pytest.approx(
            [f.logprob for f in other.likelihoods], abs=1e-4
        )


def rest(loaded, prompt):
    """The tokens a template writes behind the question."""
    behind = loaded.renderer.text(prompt).split("Which one?")[1]
    return loaded.renderer.tokenizer.encode(behind, add_special_tokens=False)


@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "qwen2_audio", "janus"])
def test_prompts_of_different_lengths_go_through_together_and_get_what_they_get_alone(
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

    assert model._loaded.plain.fills is True
    assert written(together) == alone
    assert model.counted.passes - before < 4 * 5
    lengths = [
        model._loaded.renderer.inputs(one.prompt)["input_ids"].shape[1] for one in asked
    ]
    assert [output.usage.input_tokens for output in together] == lengths


def test_a_model_that_cannot_be_filled_up_is_asked_one_length_at_a_time(
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
    assert llava._loaded.plain.fills is False
