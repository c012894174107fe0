"""Models with image or audio input, end to end: tiny random ones with their own processors."""

import json
from types import SimpleNamespace

import pytest

from assay.core import GenerateOptions, Image, Message, Prompt, Request
from assay.models.local_transformers import LocalTransformers
from assay.models.local_transformers.media_prompts import audio_limit

from .tiny_media import ask, picture, sound, weigh, written

pytestmark = pytest.mark.torch


def test_llava_answer_depends_on_its_image_and_not_on_the_batch(llava):
    requests = [ask(picture(color), "What is it?") for color in ("red", "blue", "red")]

    together = written(llava.generate(requests))

    assert llava.abilities.accepts == {"text", "image"}
    assert together[0] == together[2] != together[1]
    assert together == written([llava.generate([request])[0] for request in requests])


def test_llava_scores_continuations_after_an_image(llava):
    import torch

    prompt = Prompt(
        (Message.of("user", picture("red"), "What?"),), continuations=("A", "B", "red")
    )

    [output] = llava.likelihood([Request(prompt)])

    loaded = llava._loaded
    inputs = loaded.renderer.inputs(prompt)
    ids = loaded.renderer.tokenizer.encode("red", add_special_tokens=False)
    total = 0.0
    for at, token in enumerate(ids):
        with torch.inference_mode():
            logits = loaded.weigher.logits(inputs, ids[:at])[-1]
        total += torch.log_softmax(logits, -1)[token].item()
    assert [found.tokens for found in output.likelihoods] == [1, 1, 3]
    assert output.likelihoods[2].logprob == pytest.approx(total, abs=1e-4)


def test_several_images_and_words_between_them_keep_their_order(llava):
    requests = [
        ask(picture("red"), "and", picture("blue"), "which?"),
        ask(picture("blue"), "and", picture("red"), "which?"),
    ]

    first, second = written(llava.generate(requests))

    assert first != second


def test_images_of_few_shot_examples_are_decoded_once(llava, monkeypatch):
    from assay.models.local_transformers import media_prompts

    decoded, usual = [], media_prompts.decode_image
    monkeypatch.setattr(
        media_prompts,
        "decode_image",
        lambda part: decoded.append(part.digest) or usual(part),
    )
    header = (picture("red"), picture("blue"))
    llava.load()
    decoded.clear()

    llava.generate([ask(*header, picture((at, 9, 9)), "What?") for at in range(20)])

    assert len(decoded) == len(set(decoded)) == 2 + 20
    assert len(llava._loaded.renderer._last) == media_prompts.REMEMBERED


def test_completion_has_a_placeholder_at_the_position_of_its_image(llava):
    prompt = Prompt((Message.of("", picture("red"), "A photo of"),))

    assert llava._load().renderer.text(prompt) == "<image>A photo of"


def test_qwen2_vl_reads_images_of_any_size_without_torchvision(qwen2_vl):
    requests = [
        ask(picture("red", size), "What?") for size in ((40, 30), (84, 84), (40, 30))
    ]

    outputs = qwen2_vl.generate(requests)

    assert written(outputs)[0] == written(outputs)[2]
    # 84 by 84 pixels are 9 merged patches, 40 by 30 round to one.
    assert outputs[1].usage.input_tokens - outputs[0].usage.input_tokens == 8
    assert written(outputs) == written(
        [qwen2_vl.generate([request])[0] for request in requests]
    )


def test_qwen2_audio_reads_the_clip_in_the_chat(qwen2_audio):
    requests = [
        ask(sound(440), "What?"),
        ask(sound(2000), "What?"),
        ask(sound(440, 2.0), "What?"),
    ]

    outputs = qwen2_audio.generate(requests)

    assert qwen2_audio.abilities.accepts == {"text", "audio"}
    assert written(outputs)[0] != written(outputs)[1]
    assert (
        outputs[2].usage.input_tokens - outputs[0].usage.input_tokens == 25
    )  # tokens of one more second


def test_speech_model_ignores_the_text_of_the_prompt(whisper):
    outputs = whisper.generate(
        [ask(sound(440)), ask(sound(3000)), ask("ignored", sound(440))]
    )

    assert whisper.abilities.likelihood is False
    assert written(outputs)[0] == written(outputs)[2] != written(outputs)[1]


def test_clip_with_another_sampling_rate_is_resampled(whisper):
    [low] = whisper.generate([ask(sound(440, rate=8000))])

    assert low.error is None


def test_prompt_without_audio_fails_only_its_sample(whisper):
    silent, heard = whisper.generate([ask("no sound"), ask(sound())])

    assert "takes one audio clip, this prompt has 0" in silent.error.message
    assert heard.error is None


def test_broken_image_fails_only_its_sample(llava):
    broken, whole = llava.generate(
        [ask(Image(b"\x89PNG\r\n\x1a\nnothing"), "What?"), ask(picture("red"), "What?")]
    )

    assert broken.error.kind == "data"
    assert whole.error is None


def test_sampled_answers_to_an_image_are_the_same_alone_and_in_a_batch(llava):
    requests = [
        ask(picture(c), "What?", temperature=1.0, n=2, seed=3) for c in ("red", "blue")
    ]

    together = llava.generate(requests)
    alone = [llava.generate([request])[0] for request in requests]

    assert [o.candidates for o in together] == [o.candidates for o in alone]
    assert together[0].candidates[0] != together[0].candidates[1]


def test_image_generation_with_penalties_is_refused(janus):
    prompt = Prompt((Message.of("user", "a red house"),), produces=("image",))

    [output] = janus.generate([Request(prompt, GenerateOptions(frequency_penalty=1.0))])

    assert "takes no penalties; fix: ask without them" in output.error.message


def test_janus_generates_each_image_with_its_own_seed(janus):
    prompt = Prompt((Message.of("user", "a red house"),), produces=("image",))

    [two] = janus.generate([Request(prompt, GenerateOptions(n=2, seed=1))])
    [three] = janus.generate([Request(prompt, GenerateOptions(n=3, seed=1))])

    assert janus.abilities.produces == {"text", "image"}
    assert [candidate.media[0].format for candidate in two.candidates] == ["png", "png"]
    first, second, third = (candidate.token_ids for candidate in three.candidates)
    assert [candidate.token_ids for candidate in two.candidates] == [first, second]
    assert len({first, second, third}) > 1


@pytest.mark.parametrize("temperature", [None, 0.0])
@pytest.mark.parametrize(
    "part", ["generation_head.vision_head", "vqmodel.decoder.conv_out"]
)
def test_janus_image_that_is_not_finite_is_a_failure(janus, part, temperature):
    import torch

    model = janus._ready().model
    with torch.no_grad():
        model.model.get_submodule(part).weight.fill_(float("nan"))
    prompt = Prompt((Message.of("user", "a red house"),), produces=("image",))

    [output] = janus.generate(
        [Request(prompt, GenerateOptions(temperature=temperature))]
    )

    assert output.error.kind == "non_finite" and not output.error.retryable


def test_janus_answers_questions_about_images(janus):
    [output] = janus.generate([ask(picture("red"), "What?")])

    assert output.error is None
    assert len(output.candidates[0].token_ids) == 5


def test_an_image_is_decoded_while_the_one_before_is_on_the_device(llava, held_device):
    device = held_device(llava)
    device.watch(llava._loaded.renderer, "inputs")

    answers = device.first_then_second(
        lambda text: llava.generate([ask(picture("red"), text)])[0]
    )

    assert device.came[0] is True
    assert [answer.error for answer in answers] == [None, None]


def test_token_limit_of_an_answer_does_not_depend_on_longer_prompts(llava):
    short, long = ask(picture("red"), "What?"), ask(picture("red"), "What is it?")
    inputs = llava._ready().renderer.inputs(short.prompt)
    tight = LocalTransformers(
        llava.path, max_tokens=8, context=inputs["input_ids"].shape[1] + 8
    )

    alone = written([tight.generate([short])[0], tight.generate([long])[0]])

    assert written(tight.generate([short, long])) == alone
    assert [len(ids) for ids in alone] == [8, 2]


def test_clip_longer_than_one_window_is_transcribed_to_its_end(whisper):
    seen = []
    # Tokens from here on are timestamps, with which a long clip is read in turns.
    whisper._ready().model.generation_config.no_timestamps_token_id = 300
    whisper._loaded.model.get_encoder().register_forward_pre_hook(
        lambda *_: seen.append(1)
    )

    [short, long] = whisper.generate([ask(sound(440, 2.0)), ask(sound(440, 65.0))])

    assert (short.error, long.error) == (None, None)
    # Windows of 30 s: one for the short clip, at least three for the long one.
    assert len(seen) >= 1 + 3


def test_long_clip_for_a_model_without_timestamps_is_a_failure(
    whisper,
):
    [short, long] = whisper.generate([ask(sound(440, 2.0)), ask(sound(440, 65.0))])

    assert short.error is None
    assert (long.error.kind, long.error.retryable) == ("context", False)
    assert long.error.message == (
        "a clip lasts 65.0 s and the model hears 30.0 s at once, and its settings have no timestamps to continue "
        "from; fix: shorter clips, or a model that hears longer ones"
    )


LONG = "a clip lasts 31.0 s and the model hears 30.0 s at once; fix: shorter clips, or a model that hears longer ones"


def test_clip_longer_than_the_limit_is_a_failure_and_not_cut(qwen2_audio):
    asked = [ask(sound(440, seconds), "what?") for seconds in (30.0, 31.0, 1.0)]

    whole, long, short = qwen2_audio.generate(asked)

    assert (whole.error, short.error) == (None, None)
    assert (long.error.kind, long.error.message) == ("context", LONG)


def test_long_clip_among_short_ones_is_a_failure(qwen2_audio):
    several = [sound(440, 1.0), sound(300, 31.0), sound(200, 1.0)]

    [output] = qwen2_audio.generate([ask(*several, "what?")])
    [weighed] = qwen2_audio.likelihood([weigh(*several, "what?", options=("a", "b"))])

    assert output.error.message == weighed.error.message == LONG


def test_processor_that_splits_long_clips_cuts_nothing():
    import torch

    extractor = SimpleNamespace(hop_length=160, feature_size=80)
    lengths = [16000 * 70, 16000]

    assert (
        audio_limit(extractor, {"input_features": torch.zeros(4, 80, 3000)}, lengths)
        is None
    )
    assert (
        audio_limit(extractor, {"input_features": torch.zeros(2, 80, 7000)}, lengths)
        is None
    )
    assert (
        audio_limit(extractor, {"input_features": torch.zeros(2, 7000, 80)}, lengths)
        is None
    )
    assert (
        audio_limit(extractor, {"input_features": torch.zeros(2, 80, 3000)}, lengths)
        == 30 * 16000
    )


@pytest.mark.parametrize(
    "name",
    ["Gemma3nAudioFeatureExtractor", "LasrFeatureExtractor", "WhisperFeatureExtractor"],
)
def test_clip_that_ends_with_its_last_frame_is_not_cut(name):
    import numpy
    import transformers

    extractor = getattr(transformers, name)()
    heard = {}
    for seconds in (0.5, 1.0, 5.0, 10.37, 29.9, 30.0):
        samples = numpy.zeros(int(seconds * 16000), dtype="float32")
        made = dict(extractor([samples], sampling_rate=16000, return_tensors="pt"))
        heard[seconds] = audio_limit(extractor, made, [len(samples)])

    assert set(heard.values()) == {None}


@pytest.mark.parametrize(
    "name", ["Gemma3nAudioFeatureExtractor", "WhisperFeatureExtractor"]
)
def test_clip_cut_by_half_a_second_is_a_failure(name):
    import numpy
    import transformers

    extractor, samples = (
        getattr(transformers, name)(),
        numpy.zeros(16000 * 61 // 2, dtype="float32"),
    )
    made = dict(extractor([samples], sampling_rate=16000, return_tensors="pt"))

    assert audio_limit(extractor, made, [len(samples)]) == pytest.approx(
        30 * 16000, rel=0.01
    )


def test_image_generation_from_an_image_is_refused(janus):
    prompt = Prompt(
        (Message.of("user", "make it blue", picture("red")),), produces=("image",)
    )

    [output] = janus.generate([Request(prompt)])

    assert (output.error.kind, output.error.retryable) == ("data", False)
    assert output.error.message.startswith(
        "the model draws from words alone, and the prompt has media; fix: leave"
    )


def run_over(tmp_path, model, rows):
    from assay.cli.main import main

    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "run"
    code = main(
        [
            "run",
            str(data),
            "--model",
            f"hf/{model.path}",
            "--scorer",
            "exact_match",
            "--output",
            str(out),
        ]
    )
    # Generated text may contain other line ends than a file.
    lines = [
        json.loads(line)
        for line in (out / "records.jsonl").read_text().split("\n")
        if line
    ]
    return code, [line for line in lines if line["kind"] == "output"]


@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "janus"])
def test_a_whole_run_over_images(name, request, tmp_path):
    from PIL import Image as pillow

    model = request.getfixturevalue(name)
    for color in ("red", "blue"):
        pillow.new("RGB", (40, 30), color).save(tmp_path / f"{color}.png")
    rows = [
        {"image": f"{color}.png", "question": "Which color?", "answer": color}
        for color in ("red", "blue")
    ]

    code, outputs = run_over(tmp_path, model, rows)

    assert code == 0
    assert [output["output"].get("error") for output in outputs] == [None, None]


@pytest.mark.parametrize("name", ["qwen2_audio", "whisper"])
def test_a_whole_run_over_audio_clips(name, request, tmp_path):
    model = request.getfixturevalue(name)
    for hertz in (300, 900):
        (tmp_path / f"{hertz}.wav").write_bytes(sound(hertz).data())
    rows = [
        {"audio": f"{hertz}.wav", "question": "What is it?", "answer": "a tone"}
        for hertz in (300, 900)
    ]

    code, outputs = run_over(tmp_path, model, rows)

    assert code == 0
    assert [output["output"].get("error") for output in outputs] == [None, None]
