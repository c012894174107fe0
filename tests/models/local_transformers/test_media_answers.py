"""Answers of media models, with and without sharing: penalties, limits, NaN values."""

import pytest

from assay.core import Message, Prompt, Request, UsageError
from assay.models.local_transformers import LocalTransformers

from .tiny_media import ask, picture, plainly, sound, weigh, written

pytestmark = pytest.mark.torch
WAYS = pytest.mark.parametrize(
    "way", [lambda model: model, plainly], ids=["shared", "plain"]
)
MODELS = ["llava", "qwen2_vl", "qwen2_audio", "janus"]


def medium(name):
    return sound() if name in ("qwen2_audio", "whisper") else picture("red")


def spoil(module):
    """Make a part of a model return NaN."""
    import torch

    with torch.no_grad():
        next(module.parameters()).fill_(float("nan"))


def spoil_one(model, requests, wrong):
    """Make one of several images overflow in the encoder of a LLaVA."""
    import torch

    pixels = model._ready().renderer.inputs(requests[wrong].prompt)["pixel_values"][0]

    def overflow(_, args, found):
        for row, own in enumerate(args[0]):
            if torch.equal(own.cpu(), pixels):
                found.last_hidden_state[row] = float("inf")
                for state in found.hidden_states or ():
                    if state is not None:  # unused layers are left out
                        state[row] = float("inf")
        return found

    model._loaded.model.model.vision_tower.register_forward_hook(overflow)


@WAYS
@pytest.mark.parametrize("temperature", [None, 1.0])
@pytest.mark.parametrize("name", MODELS)
def test_logits_that_are_not_finite_are_a_failure(name, way, temperature, request):
    model = way(request.getfixturevalue(name))
    spoil(model._ready().model.get_output_embeddings())
    content = (medium(name), "What?")

    answers = model.generate(
        [ask(*content, *more, temperature=temperature) for more in ((), ("Again?",))]
    )
    weighed = model.likelihood([weigh(*content, options=("A", "a house"))])
    [text] = model.likelihood(
        [Request(Prompt((Message.of("", "a text"),), rolling=True))]
    )

    assert [output.error.kind for output in (*answers, *weighed, text)] == [
        "non_finite"
    ] * 4
    assert answers[0].error.message == "the model computed logits that are not finite"


@pytest.mark.parametrize("temperature", [None, 1.0])
def test_weights_that_are_not_finite_fail_each_sample(llava, tmp_path, temperature):
    from transformers import AutoProcessor, LlavaForConditionalGeneration

    broken = LlavaForConditionalGeneration.from_pretrained(llava.path)
    spoil(broken.model.vision_tower)
    broken.save_pretrained(tmp_path)
    AutoProcessor.from_pretrained(llava.path).save_pretrained(tmp_path)
    model = LocalTransformers(str(tmp_path), max_tokens=3)

    outputs = model.generate(
        [ask(picture(c), "What?", temperature=temperature) for c in ("red", "blue")]
    )

    assert [output.error.kind for output in outputs] == ["non_finite"] * 2


@pytest.mark.parametrize("seconds", [1.0, 65.0])
def test_transcript_with_logits_that_are_not_finite_is_a_failure(whisper, seconds):
    whisper._ready().model.generation_config.no_timestamps_token_id = 300
    spoil(whisper._loaded.model.get_encoder())

    outputs = whisper.generate([ask(sound(440, seconds)), ask(sound(880, seconds))])

    assert [output.error.kind for output in outputs] == ["non_finite"] * 2


@WAYS
def test_image_that_overflows_fails_only_its_sample(llava, way):
    model = way(llava)
    questions = {"red": "What?", "blue": "What is it?", "green": "Who?"}
    asked = [ask(picture(color), text) for color, text in questions.items()]
    options = [
        weigh(*one.prompt.messages[0].parts, options=("A", "red")) for one in asked
    ]
    usual, likely = written(model.generate(asked)), model.likelihood(options)
    fresh = way(LocalTransformers(llava.path, max_tokens=5))
    spoil_one(fresh, asked, 1)

    answers, weighed = fresh.generate(asked), fresh.likelihood(options)

    assert [output.error and output.error.kind for output in answers] == [
        None,
        "non_finite",
        None,
    ]
    assert [output.error and output.error.kind for output in weighed] == [
        None,
        "non_finite",
        None,
    ]
    assert written([answers[0], answers[2]]) == [usual[0], usual[2]]
    for one, other in ((weighed[0], likely[0]), (weighed[2], likely[2])):
        assert [f.logprob for f in one.likelihoods] == pytest.approx(
            [f.logprob for f in other.likelihoods], abs=1e-4
        )


@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "qwen2_audio", "whisper"])
@pytest.mark.parametrize(
    "penalty", ["frequency_penalty", "presence_penalty", "repetition_penalty"]
)
def test_penalty_prevents_repetition_after_media(name, penalty, request):
    model = request.getfixturevalue(name)
    content = (medium(name),) if name == "whisper" else (medium(name), "What?")
    # So large that no token is generated twice.
    size = 1e6 if penalty != "repetition_penalty" else 1e4

    asked = ask(*content, max_tokens=12, **{penalty: size})

    shared = written(model.generate([asked]))
    plain = written(plainly(LocalTransformers(model.path)).generate([asked]))

    assert shared == plain
    own = [token for token in plain[0] if token not in (256, 257)]
    assert len(own) > 3
    assert len(set(own)) == len(own)


def test_penalties_that_the_models_own_generate_ignores_are_refused(
    janus,
):
    penalised, usual = (
        ask(picture("red"), "What?", presence_penalty=1.0),
        ask(picture("red"), "What?"),
    )

    outputs = plainly(janus).generate([penalised, usual])

    assert (
        "the model's own `generate` takes no penalties; fix: ask without them"
        in outputs[0].error.message
    )
    assert outputs[1].error is None


@WAYS
def test_penalties_count_generated_tokens_only(llava, way):
    import torch

    model = way(llava)
    request = ask(
        picture("red"),
        "What?",
        max_tokens=10,
        frequency_penalty=0.7,
        presence_penalty=0.4,
    )

    [found] = written(model.generate([request]))

    loaded, own = model._loaded, []
    inputs = loaded.renderer.inputs(request.prompt)
    for _ in range(len(found)):
        logits = loaded.weigher.logits(inputs, own)[-1].clone()
        for token in set(own):
            logits[token] -= 0.7 * own.count(token) + 0.4
        own.append(int(torch.argmax(logits)))
    assert tuple(own) == tuple(found)


@WAYS
@pytest.mark.parametrize("name", MODELS)
def test_an_answer_cut_by_the_context_is_marked(name, way, request):
    path = request.getfixturevalue(name).path
    content = (medium(name), "What?")
    [usual] = LocalTransformers(path, max_tokens=5).generate([ask(*content)])
    length = usual.usage.input_tokens
    model = way(LocalTransformers(path, context=length + 3))

    squeezed, drawn, asked_for, longer = model.generate(
        [
            ask(*content),
            ask(*content, temperature=1.0, n=2),
            ask(*content, max_tokens=2),
            ask(*content, "too much"),
        ]
    )

    assert squeezed.stop_reason == "length" and squeezed.usage.output_tokens == 3
    assert squeezed.details == drawn.details == {"answer_room": 3}
    assert asked_for.details == {} and usual.details == {}
    assert longer.error.kind == "context"
    assert longer.error.message.endswith("`truncate` cuts prompts of text models only")


@WAYS
def test_answer_that_ends_at_an_end_token_is_not_marked_as_squeezed(llava, way):
    [usual] = llava.generate([ask(picture("red"), "What?")])
    model = way(LocalTransformers(llava.path, context=usual.usage.input_tokens + 3))

    [stopped] = model.generate([ask(picture("red"), "What?", stop=(usual.text[:1],))])

    assert stopped.stop_reason == "stop" and stopped.details == {}


def ends_after(model, tokens):
    """Make a speech model end each turn after this number of tokens."""
    steps = 0

    def end(_, given, out):
        nonlocal steps
        steps = (
            0
            if out.logits.shape[1] > 1 or given.get("past_key_values") is None
            else steps + 1
        )
        if steps >= tokens:
            out.logits[:, -1, 257] = 1e9

    model._ready().model.register_forward_hook(
        lambda module, _, given, out: end(module, given, out), with_kwargs=True
    )


@pytest.mark.parametrize("tokens", [0, 2, 1000])
def test_transcript_ends_at_an_end_token_or_at_the_context_limit(whisper, tokens):
    ends_after(whisper, tokens)
    sounds = [sound(440), sound(2000)]

    squeezed = whisper.generate([ask(one, max_tokens=100) for one in sounds])
    asked_for = whisper.generate([ask(one, max_tokens=20) for one in sounds])

    ends = tokens < 1000
    assert [output.stop_reason for output in (*squeezed, *asked_for)] == [
        "stop" if ends else "length"
    ] * 4
    assert [output.details for output in squeezed] == [
        {} if ends else {"answer_room": 60}
    ] * 2
    assert [output.details for output in asked_for] == [{}] * 2


@pytest.mark.parametrize("tokens", [2, 1000])
def test_long_transcript_is_squeezed_if_one_of_its_turns_is(whisper, tokens):
    whisper._ready().model.generation_config.no_timestamps_token_id = 300
    ends_after(whisper, tokens)

    outputs = whisper.generate(
        [ask(sound(hertz, 65.0), max_tokens=100) for hertz in (440, 2000)]
    )

    ends = tokens < 1000
    assert [output.stop_reason for output in outputs] == [
        "stop" if ends else "length"
    ] * 2
    assert [output.details for output in outputs] == [
        {} if ends else {"answer_room": 60}
    ] * 2


def test_run_counts_squeezed_answers_of_a_media_model(llava, tmp_path):
    import assay

    seen = Prompt((Message.of("user", picture("red"), "What?"),))
    [usual] = llava.generate([Request(seen)])
    model = LocalTransformers(llava.path, context=usual.usage.input_tokens + 3)
    rows = [{"id": str(at), "question": "What?", "answer": "x"} for at in range(3)]

    done = assay.run(
        assay.Task("seen", rows, template=lambda sample: seen),
        model,
        output=str(tmp_path / "run"),
    )

    [note] = [note for note in done.notes if "ended early" in note]
    assert note.startswith(
        "seen: 3 answers ended early: prompt and max_tokens together exceed the context of "
    )


@WAYS
@pytest.mark.parametrize("name", ["llava", "qwen2_audio"])
def test_a_stop_string_that_is_a_special_token_ends_the_answer(name, way, request):
    model = way(request.getfixturevalue(name))
    loaded = model._ready()
    special = loaded.renderer.tokenizer.convert_tokens_to_ids("<|im_start|>")

    def favour(_, __, logits):
        changed = logits.clone()
        changed[..., special] = 1e4
        return changed

    loaded.model.get_output_embeddings().register_forward_hook(favour)
    asked = [
        ask(medium(name), "What?"),
        ask(medium(name), "What?", stop=("x", "<|im_start|>")),
    ]

    plain, stopped = model.generate(asked)

    assert (plain.stop_reason, plain.candidates[0].token_ids) == (
        "length",
        (special,) * 5,
    )
    assert (stopped.stop_reason, stopped.candidates[0].token_ids) == (
        "stop",
        (special,),
    )


def test_logprobs_of_media_models_are_refused(llava):
    with pytest.raises(
        UsageError,
        match=r"reports no log-probabilities of what it writes; fix: leave logprobs out",
    ):
        llava.generate([ask(picture("red"), "What?", logprobs=0)])
