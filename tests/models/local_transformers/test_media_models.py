"""Models that see and hear, end to end: tiny random ones of real architectures, with their own processors."""

import io
import json
import math
import struct
import wave

import pytest

from assay.core import Audio, GenerateOptions, Image, Message, Prompt, Request
from assay.models.local_transformers import LocalTransformers

pytestmark = pytest.mark.torch
TEXT = {
    "vocab_size": 300, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 2048, "initializer_range": 0.2,
}  # fmt: skip
LISTED = (
    "{% for m in messages %}{{ m.role }}: {% for c in m.content %}{% if c.type == 'image' %}<image>"
    "{% else %}{{ c.text }}{% endif %}{% endfor %}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
)


def picture(color, size=(40, 30)):
    from PIL import Image as pillow

    return Image(pillow.new("RGB", size, color))


def sound(hertz=440, seconds=1.0, rate=16000):
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        tone = (int(8000 * math.sin(2 * math.pi * hertz * t / rate)) for t in range(int(seconds * rate)))
        file.writeframes(b"".join(struct.pack("<h", value) for value in tone))
    return Audio(buffer.getvalue())


@pytest.fixture(scope="module")
def folders(tmp_path_factory, request):
    return tmp_path_factory.mktemp("media")


@pytest.fixture
def llava(make, folders):
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    folder = folders / "llava"
    if not folder.exists():
        tokenizer = make.tokenizer("<image>")
        images = CLIPImageProcessorPil(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28})
        vision = CLIPVisionConfig(
            hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2, image_size=28,
            patch_size=14, projection_dim=32, initializer_range=0.5,
        )  # fmt: skip
        config = LlavaConfig(
            vision_config=vision, text_config=make.config(), image_seq_length=4,
            image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        )  # fmt: skip
        processor = LlavaProcessor(
            image_processor=images, tokenizer=tokenizer, patch_size=14, vision_feature_select_strategy="default",
            image_token="<image>", num_additional_image_tokens=1, chat_template=LISTED,
        )  # fmt: skip
        make.folder(folder, make.model(LlavaForConditionalGeneration, config), processor)
    return LocalTransformers(str(folder), max_tokens=5)


@pytest.fixture
def qwen2_vl(make, folders):
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration, Qwen2VLImageProcessorPil

    folder = folders / "qwen2_vl"
    if not folder.exists():
        marks = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
        template = LISTED.replace("<image>", "<|vision_start|><|image_pad|><|vision_end|>")
        tokenizer = make.tokenizer(*marks, template=template)
        start, end, image, video = (tokenizer.convert_tokens_to_ids(mark) for mark in marks)
        rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
        config = Qwen2VLConfig(
            text_config={**TEXT, "rope_parameters": rope},
            vision_config={"depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2},
            vision_start_token_id=start, vision_end_token_id=end, image_token_id=image, video_token_id=video,
        )  # fmt: skip
        make.folder(folder, make.model(Qwen2VLForConditionalGeneration, config), tokenizer)
        Qwen2VLImageProcessorPil(min_pixels=28 * 28, max_pixels=84 * 84).save_pretrained(folder)
    return LocalTransformers(str(folder), max_tokens=5)


@pytest.fixture
def qwen2_audio(make, folders):
    from transformers import (
        Qwen2AudioConfig,
        Qwen2AudioForConditionalGeneration,
        Qwen2AudioProcessor,
        WhisperFeatureExtractor,
    )

    folder = folders / "qwen2_audio"
    if not folder.exists():
        tokenizer = make.tokenizer("<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>")
        audio = {
            "d_model": 32, "encoder_layers": 2, "encoder_attention_heads": 2, "encoder_ffn_dim": 48,
            "num_mel_bins": 80, "max_source_positions": 1500, "init_std": 0.5,
        }  # fmt: skip
        config = Qwen2AudioConfig(
            audio_config=audio, text_config={"model_type": "qwen2", **TEXT},
            audio_token_index=tokenizer.convert_tokens_to_ids("<|AUDIO|>"),
        )  # fmt: skip
        processor = Qwen2AudioProcessor(feature_extractor=WhisperFeatureExtractor(feature_size=80), tokenizer=tokenizer)
        make.folder(folder, make.model(Qwen2AudioForConditionalGeneration, config), processor)
    return LocalTransformers(str(folder), max_tokens=5)


@pytest.fixture
def whisper(make, folders):
    from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration

    folder = folders / "whisper"
    if not folder.exists():
        config = WhisperConfig(
            vocab_size=1802, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
            decoder_attention_heads=2, encoder_ffn_dim=48, decoder_ffn_dim=48, num_mel_bins=80, init_std=1.0,
            max_source_positions=1500, max_target_positions=64, decoder_start_token_id=256, bos_token_id=256,
            eos_token_id=257, pad_token_id=258, suppress_tokens=[], begin_suppress_tokens=[],
        )  # fmt: skip
        model = make.model(WhisperForConditionalGeneration, config)
        make.folder(folder, model, make.tokenizer())
        WhisperFeatureExtractor(feature_size=80).save_pretrained(folder)
    return LocalTransformers(str(folder), max_tokens=5)


@pytest.fixture
def janus(make, folders):
    from transformers import JanusConfig, JanusForConditionalGeneration, JanusImageProcessorPil, JanusProcessor
    from transformers import PreTrainedTokenizerFast as Fast

    folder = folders / "janus"
    if not folder.exists():
        marks = {"image_token": "<image>", "boi_token": "<begin_of_image>", "eoi_token": "<end_of_image>"}
        backend = make.tokenizer(*marks.values())._tokenizer
        named = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
        tokenizer = Fast(tokenizer_object=backend, extra_special_tokens=marks, **named)
        vision = {
            "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 16, "patch_size": 8,
            "projection_dim": 32, "num_image_tokens": 4, "mlp_ratio": 2.0,
        }  # fmt: skip
        decoder = {
            "embed_dim": 8, "num_embeddings": 32, "latent_channels": 32, "base_channels": 32, "num_res_blocks": 1,
            "channel_multiplier": [1, 1], "num_patches": 2, "projection_dim": 32, "image_token_embed_dim": 32,
        }  # fmt: skip
        config = JanusConfig(
            text_config=make.config().to_dict(), vision_config=vision, vq_config=decoder,
            image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        )  # fmt: skip
        images = JanusImageProcessorPil(size={"height": 16, "width": 16}, min_size=8)
        processor = JanusProcessor(images, tokenizer, chat_template=LISTED, num_image_tokens=4)
        make.folder(folder, make.model(JanusForConditionalGeneration, config), processor)
    return LocalTransformers(str(folder), max_tokens=5)


def ask(*content, **options):
    return Request(Prompt((Message.of("user", *content),)), GenerateOptions(**options))


def written(outputs):
    assert [output.error for output in outputs] == [None] * len(outputs)
    return [output.candidates[0].token_ids for output in outputs]


def test_a_picture_changes_what_a_llava_writes_and_a_neighbour_does_not(llava):
    requests = [ask(picture(color), "What is it?") for color in ("red", "blue", "red")]

    together = written(llava.generate(requests))

    assert llava.abilities.accepts == {"text", "image"}
    assert together[0] == together[2] != together[1]
    assert together == written([llava.generate([request])[0] for request in requests])


def test_a_llava_weighs_answers_after_a_picture(llava):
    import torch

    prompt = Prompt((Message.of("user", picture("red"), "What?"),), continuations=("A", "B", "red"))

    [output] = llava.likelihood([Request(prompt)])

    loaded = llava._loaded
    inputs = loaded.reader.inputs(prompt)
    ids = loaded.renderer.tokenizer.encode("red", add_special_tokens=False)
    total = 0.0
    for at, token in enumerate(ids):
        with torch.inference_mode():
            logits = loaded.weigher.logits(inputs, ids[:at])[-1]
        total += torch.log_softmax(logits, -1)[token].item()
    assert [found.tokens for found in output.likelihoods] == [1, 1, 3]
    assert output.likelihoods[2].logprob == pytest.approx(total, abs=1e-4)


def test_several_pictures_and_words_between_them_keep_their_order(llava):
    requests = [
        ask(picture("red"), "and", picture("blue"), "which?"),
        ask(picture("blue"), "and", picture("red"), "which?"),
    ]

    first, second = written(llava.generate(requests))

    assert first != second


def test_a_completion_marks_its_picture_where_it_stands(llava):
    prompt = Prompt((Message.of("", picture("red"), "A photo of"),))

    assert llava._load().reader.text(prompt) == "<image>A photo of"


def test_qwen2_vl_sees_pictures_of_any_size_without_torchvision(qwen2_vl):
    requests = [ask(picture("red", size), "What?") for size in ((40, 30), (84, 84), (40, 30))]

    outputs = qwen2_vl.generate(requests)

    assert written(outputs)[0] == written(outputs)[2]
    # 84 by 84 pixels are 9 merged patches, 40 by 30 round to one.
    assert outputs[1].usage.input_tokens - outputs[0].usage.input_tokens == 8
    assert written(outputs) == written([qwen2_vl.generate([request])[0] for request in requests])


def test_qwen2_audio_hears_the_sound_in_the_chat(qwen2_audio):
    requests = [ask(sound(440), "What?"), ask(sound(2000), "What?"), ask(sound(440, 2.0), "What?")]

    outputs = qwen2_audio.generate(requests)

    assert qwen2_audio.abilities.accepts == {"text", "audio"}
    assert written(outputs)[0] != written(outputs)[1]
    assert outputs[2].usage.input_tokens - outputs[0].usage.input_tokens == 25  # tokens of one more second


def test_a_speech_model_writes_from_the_sound_alone(whisper):
    outputs = whisper.generate([ask(sound(440)), ask(sound(3000)), ask("ignored", sound(440))])

    assert whisper.abilities.likelihood is False
    assert written(outputs)[0] == written(outputs)[2] != written(outputs)[1]


def test_a_sound_of_another_rate_is_resampled(whisper):
    [low] = whisper.generate([ask(sound(440, rate=8000))])

    assert low.error is None


def test_a_prompt_without_a_sound_fails_alone(whisper):
    silent, heard = whisper.generate([ask("no sound"), ask(sound())])

    assert "takes one sound, this prompt has 0" in silent.error.message
    assert heard.error is None


def test_a_broken_picture_fails_its_sample_alone(llava):
    broken, whole = llava.generate([ask(Image(b"\x89PNG\r\n\x1a\nnothing"), "What?"), ask(picture("red"), "What?")])

    assert broken.error.kind == "data"
    assert whole.error is None


def test_drawn_answers_of_a_picture_are_the_same_alone_and_together(llava):
    requests = [ask(picture(c), "What?", temperature=1.0, n=2, seed=3) for c in ("red", "blue")]

    together = llava.generate(requests)
    alone = [llava.generate([request])[0] for request in requests]

    assert [o.candidates for o in together] == [o.candidates for o in alone]
    assert together[0].candidates[0] != together[0].candidates[1]


def test_a_janus_draws_as_many_pictures_as_asked_and_each_by_its_own_seed(janus):
    prompt = Prompt((Message.of("user", "a red house"),), produces=("image",))

    [two] = janus.generate([Request(prompt, GenerateOptions(n=2, seed=1))])
    [three] = janus.generate([Request(prompt, GenerateOptions(n=3, seed=1))])

    assert janus.abilities.produces == {"text", "image"}
    assert [candidate.media[0].format for candidate in two.candidates] == ["png", "png"]
    first, second, third = (candidate.token_ids for candidate in three.candidates)
    assert [candidate.token_ids for candidate in two.candidates] == [first, second]
    assert len({first, second, third}) > 1


def test_a_janus_also_reads_pictures_and_writes(janus):
    [output] = janus.generate([ask(picture("red"), "What?")])

    assert output.error is None
    assert len(output.candidates[0].token_ids) == 5


def test_a_picture_is_decoded_while_the_one_before_is_on_the_device(llava, held_device):
    device = held_device(llava)
    device.watch(llava._loaded.reader, "inputs")

    answers = device.first_then_second(lambda text: llava.generate([ask(picture("red"), text)])[0])

    assert device.came[0] is True
    assert [answer.error for answer in answers] == [None, None]


def weigh(*content, options):
    return Request(Prompt((Message.of("user", *content),), continuations=options))


@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "qwen2_audio", "janus"])
def test_a_prompt_with_media_is_computed_once_for_all_that_may_follow(name, request):
    import torch

    model = request.getfixturevalue(name)
    medium = sound() if name == "qwen2_audio" else picture("red")
    options = ("A", "red", "a house")
    model.likelihood([weigh(medium, "Tried?", options=options)])
    before = model.counted.tokens

    [output] = model.likelihood([weigh(medium, "What?", options=options)])

    loaded = model._loaded
    inputs = loaded.reader.inputs(weigh(medium, "What?", options=options).prompt)
    length = inputs["input_ids"].shape[1]
    assert loaded.weigher.keeps is True
    # The last token of an option is only predicted.
    assert model.counted.tokens - before == length + len("re") + len("a hous")
    for text, found in zip(options, output.likelihoods, strict=True):
        ids = loaded.renderer.tokenizer.encode(text, add_special_tokens=False)
        logprobs = torch.log_softmax(loaded.weigher.logits(inputs, ids)[length - 1 : -1].float(), -1)
        assert found.logprob == pytest.approx(sum(logprobs[at, token].item() for at, token in enumerate(ids)), abs=1e-4)


def test_a_model_that_cannot_go_on_from_what_it_keeps_is_asked_whole(llava, monkeypatch):
    request = weigh(picture("red"), "What?", options=("red", "blue"))
    [usual] = llava.likelihood([request])
    other = LocalTransformers(llava.path)

    def lost(*_):
        raise NotImplementedError("keeps nothing")

    monkeypatch.setattr(other._ready().weigher, "_further", lost)
    [whole] = other.likelihood([request])

    assert other._loaded.weigher.keeps is False
    for one, again in zip(usual.likelihoods, whole.likelihoods, strict=True):
        assert one.logprob == pytest.approx(again.logprob, abs=1e-4)


@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "qwen2_audio", "janus"])
@pytest.mark.parametrize("options", [("A", "B"), ("red", "a house")])
def test_what_questions_about_the_same_medium_begin_with_is_computed_once(name, options, request):
    model = request.getfixturevalue(name)
    media = [sound(300), sound(900)] if name == "qwen2_audio" else [picture("red"), picture("blue")]
    model.likelihood([weigh(media[0], text, options=("ab", "cd")) for text in ("Tried?", "Tried again?")])
    asked = [weigh(medium, text, options=options) for text in ("Which one?", "What is that?") for medium in media]
    alone = [model.likelihood([one])[0] for one in asked]
    before = model.counted.tokens

    together = model.likelihood(asked)

    loaded = model._loaded
    assert loaded.weigher.keeps is True
    lengths = [loaded.reader.inputs(one.prompt)["input_ids"].shape[1] for one in asked]
    behind = sum(len(option) - 1 for option in options)
    # Sorted, "What" comes before "Which": of the second question, "ich one?" and all that follows it is left.
    again = len("ich one?") + len(rest(loaded, asked[0].prompt))
    assert model.counted.tokens - before == lengths[2] + lengths[3] + 2 * again + 4 * behind
    for one, other in zip(together, alone, strict=True):
        assert [f.logprob for f in one.likelihoods] == pytest.approx([f.logprob for f in other.likelihoods], abs=1e-4)


def rest(loaded, prompt):
    """The tokens a template writes behind the question."""
    behind = loaded.reader.text(prompt).split("Which one?")[1]
    return loaded.renderer.tokenizer.encode(behind, add_special_tokens=False)


@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "qwen2_audio", "janus"])
def test_prompts_of_different_lengths_go_through_together_and_get_what_they_get_alone(name, request):
    model = request.getfixturevalue(name)
    sees = name != "qwen2_audio"
    texts = ("What?", "What is it?", "And what is in it?", "Who?")
    media = [picture(c, s) for c, s in (("red", (40, 30)), ("blue", (84, 84)), ("green", (40, 30)), ("red", (60, 60)))]
    asked = [ask(m if sees else sound(200 * (i + 1)), t) for i, (m, t) in enumerate(zip(media, texts, strict=True))]
    alone = written([model.generate([one])[0] for one in asked])
    model.generate(asked)
    before = model.counted.passes

    together = model.generate(asked)

    assert model._loaded.fills is True
    assert written(together) == alone
    assert model.counted.passes - before < 4 * 5
    lengths = [model._loaded.reader.inputs(one.prompt)["input_ids"].shape[1] for one in asked]
    assert [output.usage.input_tokens for output in together] == lengths


def test_a_model_that_cannot_be_filled_up_is_asked_one_length_at_a_time(llava, monkeypatch):
    asked = [ask(picture("red"), text) for text in ("What?", "What is it?")]
    alone = written([llava.generate([one])[0] for one in asked])
    usual = llava._ready().model.generate

    def deaf_to_masks(**given):
        return usual(**{**given, "attention_mask": given["attention_mask"].new_ones(given["attention_mask"].shape)})

    monkeypatch.setattr(llava._loaded.model, "generate", deaf_to_masks)

    assert written(llava.generate(asked)) == alone
    assert llava._loaded.fills is False


def test_what_is_left_of_the_context_is_the_same_beside_a_longer_prompt(llava):
    short, long = ask(picture("red"), "What?"), ask(picture("red"), "What is it?")
    inputs = llava._ready().reader.inputs(short.prompt)
    tight = LocalTransformers(llava.path, max_tokens=8, context=inputs["input_ids"].shape[1] + 8)

    alone = written([tight.generate([short])[0], tight.generate([long])[0]])

    assert written(tight.generate([short, long])) == alone
    assert [len(ids) for ids in alone] == [8, 2]


def test_a_sound_longer_than_a_speech_model_hears_at_once_is_heard_to_its_end(whisper):
    seen = []
    # Tokens from here on are time stamps, by which a long sound is gone through.
    whisper._ready().model.generation_config.no_timestamps_token_id = 300
    whisper._loaded.model.get_encoder().register_forward_pre_hook(lambda *_: seen.append(1))

    [short, long] = whisper.generate([ask(sound(440, 2.0)), ask(sound(440, 65.0))])

    assert (short.error, long.error) == (None, None)
    # Thirty seconds at a time: one window for the short sound, at least three for the long one.
    assert len(seen) >= 1 + 3


def run_over(tmp_path, model, rows):
    from assay.cli.main import main

    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "run"
    code = main(["run", str(data), "--model", f"hf/{model.path}", "--scorer", "exact_match", "--output", str(out)])
    lines = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]
    return code, [line for line in lines if line["kind"] == "output"]


@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "janus"])
def test_a_whole_run_over_pictures(name, request, tmp_path):
    from PIL import Image as pillow

    model = request.getfixturevalue(name)
    for color in ("red", "blue"):
        pillow.new("RGB", (40, 30), color).save(tmp_path / f"{color}.png")
    rows = [{"image": f"{color}.png", "question": "Which color?", "answer": color} for color in ("red", "blue")]

    code, outputs = run_over(tmp_path, model, rows)

    assert code == 0
    assert [output["output"].get("error") for output in outputs] == [None, None]


@pytest.mark.parametrize("name", ["qwen2_audio", "whisper"])
def test_a_whole_run_over_sounds(name, request, tmp_path):
    model = request.getfixturevalue(name)
    for hertz in (300, 900):
        (tmp_path / f"{hertz}.wav").write_bytes(sound(hertz).data())
    rows = [{"audio": f"{hertz}.wav", "question": "What is it?", "answer": "a tone"} for hertz in (300, 900)]

    code, outputs = run_over(tmp_path, model, rows)

    assert code == 0
    assert [output["output"].get("error") for output in outputs] == [None, None]
