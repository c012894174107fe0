"""What models that see and hear answer, shared and plainly alike: penalties, and numbers that are none."""

import pytest

from assay.core import Message, Prompt, Request
from assay.models.local_transformers import LocalTransformers

from .tiny_media import ask, picture, plainly, sound, weigh, written

pytestmark = pytest.mark.torch
WAYS = pytest.mark.parametrize("way", [lambda model: model, plainly], ids=["shared", "plain"])
MODELS = ["llava", "qwen2_vl", "qwen2_audio", "janus"]


def medium(name):
    return sound() if name in ("qwen2_audio", "whisper") else picture("red")


def spoil(module):
    """Makes what a part of a model computes no number."""
    import torch

    with torch.no_grad():
        next(module.parameters()).fill_(float("nan"))


def spoil_one(model, requests, wrong):
    """Makes one picture of several overflow in a LLaVA's encoder."""
    import torch

    pixels = model._ready().renderer.inputs(requests[wrong].prompt)["pixel_values"][0]

    def overflow(_, args, found):
        for row, own in enumerate(args[0]):
            if torch.equal(own.cpu(), pixels):
                found.last_hidden_state[row] = float("inf")
                for state in found.hidden_states or ():
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

    answers = model.generate([ask(*content, *more, temperature=temperature) for more in ((), ("Again?",))])
    weighed = model.likelihood([weigh(*content, options=("A", "a house"))])
    [text] = model.likelihood([Request(Prompt((Message.of("", "a text"),), rolling=True))])

    assert [output.error.kind for output in (*answers, *weighed, text)] == ["non_finite"] * 4
    assert answers[0].error.message == "the model computed logits that are not finite"


@pytest.mark.parametrize("temperature", [None, 1.0])
def test_weights_that_are_not_finite_when_they_are_loaded_are_a_failure_of_each_sample(llava, tmp_path, temperature):
    from transformers import AutoProcessor, LlavaForConditionalGeneration

    broken = LlavaForConditionalGeneration.from_pretrained(llava.path)
    spoil(broken.model.vision_tower)
    broken.save_pretrained(tmp_path)
    AutoProcessor.from_pretrained(llava.path).save_pretrained(tmp_path)
    model = LocalTransformers(str(tmp_path), max_tokens=3)

    outputs = model.generate([ask(picture(c), "What?", temperature=temperature) for c in ("red", "blue")])

    assert [output.error.kind for output in outputs] == ["non_finite"] * 2


@pytest.mark.parametrize("seconds", [1.0, 65.0])
def test_a_transcript_whose_logits_are_not_finite_is_a_failure(whisper, seconds):
    whisper._ready().model.generation_config.no_timestamps_token_id = 300
    spoil(whisper._loaded.model.get_encoder())

    outputs = whisper.generate([ask(sound(440, seconds)), ask(sound(880, seconds))])

    assert [output.error.kind for output in outputs] == ["non_finite"] * 2


@WAYS
def test_one_picture_that_overflows_fails_alone(llava, way):
    model = way(llava)
    questions = {"red": "What?", "blue": "What is it?", "green": "Who?"}
    asked = [ask(picture(color), text) for color, text in questions.items()]
    options = [weigh(*one.prompt.messages[0].parts, options=("A", "red")) for one in asked]
    usual, likely = written(model.generate(asked)), model.likelihood(options)
    fresh = way(LocalTransformers(llava.path, max_tokens=5))
    spoil_one(fresh, asked, 1)

    answers, weighed = fresh.generate(asked), fresh.likelihood(options)

    assert [output.error and output.error.kind for output in answers] == [None, "non_finite", None]
    assert [output.error and output.error.kind for output in weighed] == [None, "non_finite", None]
    assert written([answers[0], answers[2]]) == [usual[0], usual[2]]
    for one, other in ((weighed[0], likely[0]), (weighed[2], likely[2])):
        assert [f.logprob for f in one.likelihoods] == pytest.approx([f.logprob for f in other.likelihoods], abs=1e-4)


@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "qwen2_audio", "whisper"])
@pytest.mark.parametrize("penalty", ["frequency_penalty", "presence_penalty", "repetition_penalty"])
def test_a_penalty_keeps_a_model_from_saying_the_same_again(name, penalty, request):
    model = request.getfixturevalue(name)
    content = (medium(name),) if name == "whisper" else (medium(name), "What?")
    # So large that no token is written twice, save one whose logit is not positive, which is multiplied.
    size = 1e6 if penalty != "repetition_penalty" else 1e4

    asked = ask(*content, max_tokens=12, **{penalty: size})

    shared = written(model.generate([asked]))
    plain = written(plainly(LocalTransformers(model.path)).generate([asked]))

    assert shared == plain
    own = [token for token in plain[0] if token not in (256, 257)]
    assert len(own) > 3
    assert len(set(own)) == len(own)


def test_penalties_that_a_models_own_way_of_writing_takes_no_notice_of_are_refused(janus):
    penalised, usual = ask(picture("red"), "What?", presence_penalty=1.0), ask(picture("red"), "What?")

    outputs = plainly(janus).generate([penalised, usual])

    assert "the model's own `generate` takes no penalties; fix: ask without them" in outputs[0].error.message
    assert outputs[1].error is None


@WAYS
def test_penalties_are_those_of_what_was_written_and_small_ones_count(llava, way):
    import torch

    model = way(llava)
    request = ask(picture("red"), "What?", max_tokens=10, frequency_penalty=0.7, presence_penalty=0.4)

    [found] = written(model.generate([request]))

    loaded, own = model._loaded, []
    inputs = loaded.renderer.inputs(request.prompt)
    for _ in range(len(found)):
        logits = loaded.weigher.logits(inputs, own)[-1].clone()
        for token in set(own):
            logits[token] -= 0.7 * own.count(token) + 0.4
        own.append(int(torch.argmax(logits)))
    assert tuple(own) == tuple(found)


def test_drafts_are_made_of_the_words_of_a_prompt_whose_positions_are_counted_otherwise(qwen2_vl, monkeypatch):
    from assay.models.local_transformers import generate

    given, usual = [], generate.Drafter
    monkeypatch.setattr(generate, "Drafter", lambda tokens: given.append(tuple(tokens)) or usual(tokens))
    request = ask(picture("red", (84, 84)), "What is it?")

    qwen2_vl.generate([request])

    assert qwen2_vl._loaded.apart_because is None
    assert given == [qwen2_vl._loaded.renderer.encode(request.prompt)]
