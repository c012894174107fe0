"""Common prefixes with media are computed once, and give the same results as without sharing."""

import pytest

from assay.core import GenerateOptions, Message, Prompt, Request
from assay.models.local_transformers import (
    LocalTransformers,
    few_rows,
    media_engine,
    media_sharing,
)
from assay.models.local_transformers.attention import CannotShare
from assay.models.local_transformers.media_settings import more_settings

from .tiny_media import ask, picture, plainly, sound, weigh, written

pytestmark = pytest.mark.torch
MODELS = ["llava", "qwen2_vl", "qwen2_audio", "janus"]
TOWERS = {
    "llava": "vision_tower",
    "qwen2_vl": "visual",
    "qwen2_audio": "audio_tower",
    "janus": "vision_model",
}
COUNTED = {
    "llava": "pixel_values",
    "qwen2_vl": "grid_thw",
    "qwen2_audio": "input_features",
    "janus": "pixel_values",
}


def medium(name, number):
    """Return an image or clip for a model, in different sizes if the model allows that."""
    if name == "qwen2_audio":
        return sound(300 + 200 * number, 0.5 + 0.25 * (number % 2))
    return picture((20 * number, 255 - 20 * number, 128), (40 + 30 * (number % 2), 60))


def shots(name):
    """Return a header of two examples with media, followed by four different questions."""
    header = [
        medium(name, 0),
        "This is the first example, a long one. ",
        medium(name, 1),
        "This is another one. ",
    ]
    return [
        [*header, medium(name, 2 + at), f"And what is number {at}?"] for at in range(4)
    ]


def pieces(loaded, request):
    """Return the tokens of a prompt, with media tokens labelled by their content."""
    inputs = loaded.renderer.inputs(request.prompt)
    ids = inputs["input_ids"][0].tolist()
    marks = set(loaded.sharing.marks.values())
    found, number = [], -1
    for at, token in enumerate(ids):
        if token in marks and (at == 0 or ids[at - 1] not in marks):
            number += 1
        found.append(
            (token, request.prompt.media[number].digest) if token in marks else token
        )
    return found


def different(sequences):
    """Return the number of tokens in the prefix tree of sequences."""
    return len(
        {
            tuple(sequence[: at + 1])
            for sequence in sequences
            for at in range(len(sequence))
        }
    )


class Encoded:
    """Counts the images and clips that go through a model's encoder."""

    def __init__(self, name, model):
        self.media = 0
        self.passes = 0
        self._name = COUNTED[name]
        tower = next(
            m
            for path, m in model._ready().model.named_modules()
            if path.split(".")[-1] == TOWERS[name]
        )
        tower.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, _, args, kwargs):
        self.passes += 1
        self.media += len(kwargs[self._name] if self._name in kwargs else args[0])


@pytest.mark.parametrize("name", MODELS)
def test_header_with_media_is_computed_once_for_likelihoods(name, request):
    model = request.getfixturevalue(name)
    asked = [
        weigh(*content, options=("yes", "no", "a house")) for content in shots(name)
    ]
    encoded = Encoded(name, model)
    before = model.counted.tokens

    outputs = model.likelihood(asked)

    loaded = model._loaded
    assert (loaded.plain_because, loaded.apart_because) == (None, None)
    computed = [
        [*pieces(loaded, one), *text[:-1]]
        for one in asked
        for text in one.prompt.continuations
    ]
    assert model.counted.tokens - before == different(computed)
    assert encoded.media == 2 + 4
    whole = plainly(LocalTransformers(model.path)).likelihood(asked)
    for one, other in zip(outputs, whole, strict=True):
        assert [f.logprob for f in one.likelihoods] == pytest.approx(
            [f.logprob for f in other.likelihoods], abs=1e-4
        )
        assert [f.greedy for f in one.likelihoods] == [
            f.greedy for f in other.likelihoods
        ]
        assert one.usage == other.usage


@pytest.mark.parametrize("name", MODELS)
def test_header_with_media_is_computed_once_for_answers(name, request):
    model = request.getfixturevalue(name)
    asked = [ask(*content, max_tokens=24) for content in shots(name)]
    encoded = Encoded(name, model)
    model.generate([ask(*content, max_tokens=1) for content in shots(name)])
    loaded = model._loaded
    prompts = [pieces(loaded, one) for one in asked]

    outputs = model.generate(asked)

    # Each answer of the first batch has one token, which is never read.
    other = LocalTransformers(model.path)
    other.load()
    before = other.counted.tokens
    other.generate([ask(*content, max_tokens=1) for content in shots(name)])
    assert other.counted.tokens - before == different(prompts)
    # Encoded media are still cached for the second batch.
    assert (encoded.media, loaded.apart_because) == (2 + 4, None)
    whole = plainly(LocalTransformers(model.path)).generate(asked)
    assert written(outputs) == written(whole)
    assert [output.usage for output in outputs] == [output.usage for output in whole]
    assert [output.candidates[0].stop_reason for output in outputs] == [
        output.candidates[0].stop_reason for output in whole
    ]


@pytest.mark.parametrize("name", MODELS)
def test_image_is_computed_once_for_all_rotations_of_the_options(name, request):
    model = request.getfixturevalue(name)
    texts = ["red", "blue", "green", "white"]
    rotations = [texts[at:] + texts[:at] for at in range(4)]
    asked = [
        weigh(
            medium(name, 1),
            "Look closely. Which color? " + " ".join(turned),
            options=("A", "B", "C", "D"),
        )
        for turned in rotations
    ]
    encoded = Encoded(name, model)
    before = model.counted.tokens

    model.likelihood(asked)

    assert model.counted.tokens - before == different(
        [pieces(model._loaded, one) for one in asked]
    )
    assert (encoded.media, encoded.passes) == (1, 1)


@pytest.mark.parametrize("name", MODELS)
def test_answers_depend_neither_on_order_nor_on_the_batch(name, request):
    model = request.getfixturevalue(name)
    contents = [*shots(name), ["No medium at all?"], [medium(name, 3), "Alone?"]]
    asked = [ask(*content, max_tokens=12, stop=("e",)) for content in contents]
    drawn = [
        ask(*content, max_tokens=6, temperature=1.0, n=2, seed=5)
        for content in contents
    ]

    together = model.generate([*asked, *drawn])

    alone = [model.generate([one])[0] for one in reversed([*asked, *drawn])][::-1]
    assert [output.error for output in together] == [None] * len(together)
    assert [output.candidates for output in together] == [
        output.candidates for output in alone
    ]


def test_prefix_of_the_previous_batch_is_not_computed_again(qwen2_vl):
    contents = shots("qwen2_vl")
    first, second = (
        [weigh(*content, options=("A",)) for content in some]
        for some in (contents[:2], contents[2:])
    )
    qwen2_vl.likelihood(first)
    before = qwen2_vl.counted.tokens

    qwen2_vl.likelihood(second)

    one, other = (pieces(qwen2_vl._loaded, request) for request in second)
    header = next(
        at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b
    )
    assert qwen2_vl.counted.tokens - before == len(one) + len(other) - 2 * header


def test_number_of_remembered_origins_is_limited(qwen2_vl, monkeypatch):
    monkeypatch.setattr(media_engine, "MOST_ORIGINS", 3)
    asked = [weigh(*content, options=("A", "B")) for content in shots("qwen2_vl")]
    first = qwen2_vl.likelihood(asked)
    keys = qwen2_vl._loaded.engine.keys

    again = qwen2_vl.likelihood(asked)

    assert qwen2_vl._loaded.engine.keys is not keys
    for one, other in zip(first, again, strict=True):
        assert [f.logprob for f in one.likelihoods] == pytest.approx(
            [f.logprob for f in other.likelihoods], abs=1e-5
        )


def test_cache_of_encoded_media_is_limited(llava, monkeypatch):
    asked = [ask(*content) for content in shots("llava")]
    usual = written(llava.generate(asked))
    engine = llava._loaded.engine
    assert len(engine._encoded) == 6 and engine.pieces == {}
    monkeypatch.setattr(media_engine, "ROOM", 0)
    engine.release()

    assert written(llava.generate(asked)) == usual
    assert not engine._encoded


def test_model_whose_shared_results_differ_uses_its_own_generate(llava, monkeypatch):
    request = weigh(picture("red"), "What?", options=("red", "blue"))
    [usual] = llava.likelihood([request])
    encode = media_engine.MediaEngine.encode
    monkeypatch.setattr(
        media_engine.MediaEngine, "encode", lambda self, group: 2 * encode(self, group)
    )
    other = LocalTransformers(llava.path)

    [found] = other.likelihood([request])

    assert "shared and plain logits are" in other._loaded.plain_because
    assert other._loaded.model.get_decoder().config._attn_implementation == "sdpa"
    assert [f.logprob for f in found.likelihoods] == pytest.approx(
        [f.logprob for f in usual.likelihoods], abs=1e-4
    )


def test_model_whose_media_cannot_be_separated_uses_its_own_generate(
    llava, monkeypatch
):
    def refuse(*_):
        raise NotImplementedError("not apart")

    monkeypatch.setattr(media_engine.MediaEngine, "encode", refuse)

    [output] = llava.generate([ask(picture("red"), "What?")])

    assert llava._loaded.plain_because == "NotImplementedError: not apart"
    assert output.error is None


@pytest.mark.parametrize("how", ["by the user", "by the model"])
def test_settings_that_need_the_models_own_generate_use_it(llava, how):
    given = {"repetition_penalty": 1.5} if how == "by the user" else {}
    model = LocalTransformers(llava.path, max_tokens=20, generate_args=given)
    asked = [ask(*content) for content in shots("llava")]
    if how == "by the model":
        model._ready().model.generation_config.repetition_penalty = 1.5
        model._loaded.asks_for_more = more_settings(model._loaded.model, {})

    penalised = written(model.generate(asked))

    assert model._ready().asks_for_more == ("repetition_penalty",)
    assert penalised != written(
        LocalTransformers(llava.path, max_tokens=20).generate(asked)
    )


@pytest.mark.parametrize(
    "asks", [ask, lambda *content: weigh(*content, options=("A", "B"))]
)
def test_media_that_cannot_be_encoded_fail_only_their_sample(llava, asks):
    import torch

    asked = [asks(picture(color), "What?") for color in ("red", "blue", "green")]
    wrong = llava._ready().renderer.inputs(asked[1].prompt)["pixel_values"][0]

    def fail(_, args):
        if any(torch.equal(pixels.cpu(), wrong) for pixels in args[0]):
            raise ValueError("not to be seen")

    llava._loaded.model.model.vision_tower.register_forward_pre_hook(fail)

    outputs = llava.generate(asked) if asks is ask else llava.likelihood(asked)

    assert "not to be seen" in outputs[1].error.message
    assert llava._loaded.apart_because == "ValueError: not to be seen"
    assert [output.error for output in (outputs[0], outputs[2])] == [None, None]


def test_prompt_that_cannot_be_shared_uses_the_models_own_generate(llava, monkeypatch):
    asked = [
        weigh(picture(color), "What?", options=("A", "B")) for color in ("red", "blue")
    ]
    usual = llava.likelihood(asked)
    other = LocalTransformers(llava.path)
    other.load()

    def fail(self, group):
        raise ValueError("not apart")

    monkeypatch.setattr(media_engine.MediaEngine, "encode", fail)
    found = other.likelihood(asked)

    assert (other._loaded.plain_because, other._loaded.apart_because) == (
        None,
        "ValueError: not apart",
    )
    for one, again in zip(usual, found, strict=True):
        assert [f.logprob for f in one.likelihoods] == pytest.approx(
            [f.logprob for f in again.likelihoods], abs=1e-4
        )


def test_text_is_scored_from_its_first_token_with_and_without_sharing(llava):
    import torch

    rolling = Request(Prompt((Message.of("", "red and blue"),), rolling=True))
    seen = Request(Prompt((Message.of("", picture("red"), "red"),), rolling=True))

    shared, refused = llava.likelihood([rolling, seen])
    [plain] = plainly(LocalTransformers(llava.path)).likelihood([rolling])

    loaded = llava._loaded
    first, tokens = loaded.renderer.whole_text(rolling.prompt)
    ids = [first, *tokens]
    with torch.inference_mode():
        logprobs = torch.log_softmax(
            loaded.model(input_ids=torch.tensor([ids]).to(loaded.model.device)).logits[
                0
            ],
            -1,
        )
    wanted = sum(logprobs[at, token].item() for at, token in enumerate(ids[1:]))
    assert shared.likelihoods[0].logprob == pytest.approx(wanted, abs=1e-4)
    assert plain.likelihoods[0].logprob == pytest.approx(wanted, abs=1e-4)
    assert "has no whole text to weigh" in refused.error.message


def test_faster_layers_remain_after_the_test_at_load(llava):
    import torch

    if torch.cuda.is_available() or not few_rows.can_lay_out():
        pytest.skip(
            "products from laid-out weights are for CPUs, and not in every build of torch"
        )

    decoder = llava._ready().engine.decoder

    own = [vars(module).get("forward") for module in decoder.modules()]
    products = [one for one in own if isinstance(one, few_rows.FewRows)]
    assert products and all(one.is_kept for one in products)
    assert not llava._loaded.engine._encoded


@pytest.mark.parametrize(
    "given, reason",
    [
        (
            {"attention_mask": {"full_attention": "mask"}},
            "its tokens look at later ones",
        ),
        (
            {"attention_mask": None, "deepstack": ["mask"]},
            "its words are read with deepstack",
        ),
    ],
)
def test_models_with_inputs_besides_embeddings_cannot_share(given, reason):
    import torch

    mask = torch.ones(1, 1, 3, 3, dtype=torch.bool)

    def filled(value):
        if isinstance(value, dict):
            return {name: filled(part) for name, part in value.items()}
        return [mask] if isinstance(value, list) else mask if value == "mask" else value

    with pytest.raises(CannotShare, match=reason):
        media_engine.check_given(filled(given))
    media_engine.check_given(
        {"attention_mask": mask.tril(), "position_ids": mask, "use_cache": False}
    )


def test_less_is_scored_at_once_when_memory_runs_out(llava, monkeypatch):
    import torch

    usual, calls = media_sharing.weigh, []

    def short_of_memory(*given):
        calls.append(1)
        if len(calls) < 3:
            raise torch.OutOfMemoryError("out of memory")
        return usual(*given)

    pack = llava._ready().engine.budget.pack
    monkeypatch.setattr(media_sharing, "weigh", short_of_memory)

    [output] = llava.likelihood([weigh(picture("red"), "What?", options=("A",))])

    assert output.error is None
    assert llava._loaded.engine.budget.pack == pack // 4


def test_context_too_long_for_its_continuations_fails_only_its_sample(llava):
    short, long = (
        weigh(picture("red"), "What?", options=(text,)) for text in ("A", "A" * 40)
    )
    length = llava._ready().renderer.inputs(short.prompt)["input_ids"].shape[1]
    tight = LocalTransformers(llava.path, context=length + 8)

    fits, fails = tight.likelihood([short, long])

    assert fits.error is None
    assert (
        f"the prompt has {length + 39} tokens and the model takes {length + 8}"
        in fails.error.message
    )


def test_logits_that_are_not_finite_are_a_failure(llava):
    import torch

    with torch.no_grad():
        llava._ready().model.get_output_embeddings().weight.fill_(float("nan"))
    prompt = Prompt((Message.of("user", picture("red"), "What?"),))

    [output] = llava.generate([Request(prompt, GenerateOptions(max_tokens=2))])

    assert output.error.kind == "non_finite"
