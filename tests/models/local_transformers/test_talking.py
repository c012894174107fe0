"""Models that write and speak: texts and clips of a tiny, complete Qwen2.5-Omni."""

import io
import json
import math
import struct
import wave

import pytest

from assay.core import Audio, GenerateOptions, Image, Message, Prompt, Request, Video
from assay.media import decode_audio
from assay.models.local_transformers import LocalTransformers

from .tiny_video import film, frames_by_hand, needs

pytestmark = pytest.mark.torch
MARKS = {
    "image": "<|IMAGE|>",
    "audio": "<|AUDIO|>",
    "video": "<|VIDEO|>",
    "vision_start": "<|vision_bos|>",
    "vision_end": "<|vision_eos|>",
    "audio_start": "<|audio_bos|>",
    "audio_end": "<|audio_eos|>",
}
TOKEN_NAMES = {
    "image_token": "<|IMAGE|>",
    "audio_token": "<|AUDIO|>",
    "video_token": "<|VIDEO|>",
    "vision_bos_token": "<|vision_bos|>",
    "vision_eos_token": "<|vision_eos|>",
    "audio_bos_token": "<|audio_bos|>",
    "audio_eos_token": "<|audio_eos|>",
}
"""Names of special tokens in the published tokenizer."""
TEMPLATE = (
    "{% for m in messages %}{{ m.role }}: {% for c in m.content %}"
    "{% if c.type == 'image' %}<|vision_bos|><|IMAGE|><|vision_eos|>"
    "{% elif c.type == 'audio' %}<|audio_bos|><|AUDIO|><|audio_eos|>"
    "{% elif c.type == 'video' %}<|vision_bos|><|VIDEO|><|vision_eos|>{% else %}{{ c.text }}{% endif %}{% endfor %}\n"
    "{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
)
TEXT = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 2048, "initializer_range": 0.2,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]},
}  # fmt: skip
SPOKEN = {
    "tts_text_start_token_id": 290, "tts_text_end_token_id": 291, "tts_text_pad_token_id": 292,
    "tts_codec_start_token_id": 33, "tts_codec_end_token_id": 34, "tts_codec_pad_token_id": 32,
    "tts_codec_mask_token_id": 35,
}  # fmt: skip
SOUNDED = {
    "dit_config": {
        "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "head_dim": 16, "emb_dim": 16,
        "num_embeds": 40, "mel_dim": 8, "enc_emb_dim": 8, "enc_dim": 8, "enc_channels": [8, 8, 8, 8, 24],
        "enc_attention_channels": 8, "enc_se_channels": 8, "look_ahead_layers": [], "look_backward_layers": [0],
    },
    "bigvgan_config": {
        "mel_dim": 8, "upsample_initial_channel": 16, "resblock_kernel_sizes": [3],
        "resblock_dilation_sizes": [[1, 3, 5]], "upsample_rates": [4, 2], "upsample_kernel_sizes": [8, 4],
    },
}  # fmt: skip


def configuration(tokenizer):
    from transformers import Qwen2_5OmniConfig

    ids = {name: tokenizer.convert_tokens_to_ids(mark) for name, mark in MARKS.items()}
    marks = {f"{name}_token_index": ids[name] for name in ("image", "audio", "video")}
    marks |= {
        f"{name}_token_id": ids[name]
        for name in ("vision_start", "vision_end", "audio_start", "audio_end")
    }
    thinker = {
        "text_config": {"vocab_size": 300, **TEXT},
        "vision_config": {
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_heads": 2,
            "out_hidden_size": 32,
            "fullatt_block_indexes": [1],
            "initializer_range": 0.2,
        },
        "audio_config": {
            "num_mel_bins": 80,
            "encoder_layers": 1,
            "encoder_attention_heads": 2,
            "encoder_ffn_dim": 32,
            "d_model": 32,
            "output_dim": 32,
            "n_window": 50,
            "initializer_range": 0.2,
        },
        **marks,
    }
    talker = {
        "vocab_size": 40,
        "head_dim": 8,
        "embedding_size": 32,
        **TEXT,
        **SPOKEN,
        **marks,
    }
    return Qwen2_5OmniConfig(
        thinker_config=thinker, talker_config=talker, token2wav_config=SOUNDED
    )


@pytest.fixture(scope="module")
def omni_folder(tmp_path_factory):
    import torch
    from transformers import (
        Qwen2_5OmniForConditionalGeneration,
        Qwen2VLImageProcessorPil,
        WhisperFeatureExtractor,
    )

    from .conftest import make_model, make_tokenizer

    folder = tmp_path_factory.mktemp("omni")
    tokenizer = make_tokenizer(*MARKS.values(), template=TEMPLATE)
    tokenizer._set_model_specific_special_tokens(TOKEN_NAMES)
    make_model(
        Qwen2_5OmniForConditionalGeneration, configuration(tokenizer)
    ).save_pretrained(folder)
    voice = {
        "bos_token": 293,
        "cond": torch.randn(1, 8),
        "ref_mel": torch.randn(1, 20, 8),
    }
    torch.save({"Chelsie": voice}, folder / "spk_dict.pt")
    WhisperFeatureExtractor(feature_size=80).save_pretrained(folder)
    Qwen2VLImageProcessorPil(min_pixels=28 * 28, max_pixels=84 * 84).save_pretrained(
        folder
    )
    tokenizer.save_pretrained(folder)
    videos = {"shortest_edge": 28 * 28, "longest_edge": 56 * 56}
    videos = {"video_processor_type": "Qwen2VLVideoProcessor", "size": videos}
    (folder / "video_preprocessor_config.json").write_text(json.dumps(videos))
    return folder


@pytest.fixture
def omni(omni_folder):
    return LocalTransformers(
        str(omni_folder), max_tokens=6, generate_args={"talker_max_new_tokens": 12}
    )


def picture(color):
    from PIL import Image as pillow

    return Image(pillow.new("RGB", (56, 56), color))


def sound(hertz):
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        tone = (
            int(8000 * math.sin(2 * math.pi * hertz * t / 16000)) for t in range(16000)
        )
        file.writeframes(b"".join(struct.pack("<h", value) for value in tone))
    return Audio(buffer.getvalue())


def ask(*content, produces=("text", "audio"), **options):
    return Request(
        Prompt((Message.of("user", *content),), produces=produces),
        GenerateOptions(**options),
    )


def test_answer_has_text_and_audio_in_one_candidate(omni):
    [output] = omni.generate([ask("hello")])

    assert output.error is None
    [candidate] = output.candidates
    assert omni.abilities.accepts - {"video"} == {"text", "image", "audio"}
    assert omni.abilities.produces == {"text", "audio"}
    assert [part.kind for part in candidate.parts] == ["text", "audio"]
    assert candidate.text == omni._loaded.renderer.tokenizer.decode(
        list(candidate.token_ids)
    )
    heard = decode_audio(candidate.media[0])
    # Twelve codes at most, two frames each, eight samples a frame.
    assert (heard.rate, 0 < len(heard.samples) <= 12 * 2 * 8) == (24000, True)


def test_the_text_is_the_same_with_and_without_speech(omni):
    spoken, silent = omni.generate([ask("hello"), ask("hello", produces=("text",))])

    assert spoken.candidates[0].token_ids == silent.candidates[0].token_ids
    assert silent.media == ()


def test_each_clip_has_its_own_seed_independent_of_the_batch(omni):
    [two] = omni.generate([ask("hello", n=2, seed=1)])
    [_, three] = omni.generate([ask("before"), ask("hello", n=3, seed=1)])

    first = [candidate.media[0].digest for candidate in two.candidates]
    assert first == [candidate.media[0].digest for candidate in three.candidates][:2]
    assert len(set(first)) == 2


def test_an_answer_too_short_to_be_spoken_is_only_text(omni):
    [output] = omni.generate([ask("hello", max_tokens=1)])

    assert output.error is None
    assert [part.kind for part in output.candidates[0].parts] == ["text"]


@pytest.mark.parametrize("produces", [("text",), ("text", "audio")])
def test_an_answer_that_ends_at_the_context_limit_reports_it(omni, produces):
    [usual] = omni.generate([ask("hello", produces=produces)])
    narrow = LocalTransformers(
        omni.path,
        context=usual.usage.input_tokens + 3,
        generate_args={"talker_max_new_tokens": 12},
    )

    squeezed, asked_for = narrow.generate(
        [ask("hello", produces=produces), ask("hello", produces=produces, max_tokens=2)]
    )

    assert squeezed.stop_reason == "length" and squeezed.details == {"answer_room": 3}
    assert asked_for.error is None and asked_for.details == usual.details == {}


def test_a_waveform_that_is_not_finite_is_a_failure(omni):
    import torch

    with torch.no_grad():
        next(omni._ready().whole.token2wav.code2wav_bigvgan_model.parameters()).fill_(
            float("nan")
        )

    [output] = omni.generate([ask("hello")])

    assert output.error.kind == "non_finite"


@pytest.mark.parametrize("part", ["thinker", "talker"])
@pytest.mark.parametrize("produces", [("text",), ("text", "audio")])
def test_logits_that_are_not_finite_fail_only_requests_that_need_them(
    omni, part, produces
):
    import torch

    with torch.no_grad():
        for weights in getattr(omni._ready().whole, part).model.parameters():
            weights.fill_(float("nan"))

    [output] = omni.generate([ask("hello", produces=produces)])

    is_needed = part == "thinker" or "audio" in produces
    assert (output.error.kind if output.error else None) == (
        "non_finite" if is_needed else None
    )


@pytest.mark.parametrize("produces", [("text",), ("text", "audio")])
def test_started_answer_is_continued(omni, produces):
    begun = (
        Message.of("user", picture("red"), sound(300), "What?"),
        Message.of("assistant", "The color is"),
    )
    prompt = Prompt(begun, produces=produces)
    omni.load()

    [output] = omni.generate([Request(prompt)])

    assert output.error is None
    marks = (
        "<|vision_bos|><|IMAGE|>×4<|vision_eos|><|audio_bos|><|AUDIO|>×25<|audio_eos|>"
    )
    assert omni.shown(prompt) == f"user: {marks}What?assistant: The color is"
    assert output.usage.input_tokens == len(omni._loaded.renderer.encode(prompt))


@pytest.mark.parametrize("produces", [("text",), ("text", "audio")])
def test_penalties_count_generated_tokens_in_every_mode(omni, produces):
    asked = ask("hello", produces=produces, max_tokens=24, presence_penalty=1e6)

    [output] = omni.generate([asked])

    [own] = (candidate.token_ids for candidate in output.candidates)
    assert len(own) == len(set(own)) > 12


@pytest.mark.parametrize("produces", [("text",), ("text", "audio")])
def test_images_and_audio_change_the_answer(omni, produces):
    asked = [
        ask(picture(color), sound(hertz), "What?", produces=produces)
        for color, hertz in (("red", 300), ("blue", 300), ("red", 2000), ("red", 300))
    ]

    outputs = omni.generate(asked)

    assert [output.error for output in outputs] == [None] * 4
    found = [
        omni._loaded.weigher.logits(omni._loaded.renderer.inputs(one.prompt), ())[-1]
        for one in asked
    ]
    # Products with repacked weights are rounded differently.
    assert found[0].allclose(found[3], atol=1e-6)
    assert not found[0].allclose(found[1], atol=1e-4) and not found[0].allclose(
        found[2], atol=1e-4
    )
    assert outputs[0].candidates == outputs[3].candidates


def test_clip_has_as_many_tokens_as_the_model_computes_for_it(omni):
    inputs = omni._ready().renderer.inputs(ask(sound(300), "What?").prompt)

    heard = (
        inputs["input_ids"]
        == omni._loaded.renderer.tokenizer.convert_tokens_to_ids("<|AUDIO|>")
    ).sum()

    # A second has 100 frames; they are halved twice.
    assert int(heard) == 25


def test_likelihoods_come_from_the_text_part_of_the_model(omni):
    prompt = Prompt(
        (Message.of("user", picture("red"), "What?"),), continuations=("A", "a house")
    )

    [output] = omni.likelihood([Request(prompt)])

    assert output.error is None
    assert all(found.logprob < 0 for found in output.likelihoods)


def test_few_shot_examples_with_media_are_computed_once(omni, omni_folder):
    header = (
        picture("red"),
        sound(300),
        "This is an example of both, seen and heard. ",
    )
    contents = [
        (*header, picture((9, 60 * at, 9)), sound(500 + at), "What?") for at in range(3)
    ]
    weighed = [
        Request(Prompt((Message.of("user", *c),), continuations=("A", "a house")))
        for c in contents
    ]
    asked = [ask(*content, produces=("text",)) for content in contents]
    whole = LocalTransformers(str(omni_folder), max_tokens=6)
    whole._ready().plain_because = "a test wants it so"
    omni.load()
    tokens = [model.counted.tokens for model in (omni, whole)]

    found, expected = omni.likelihood(weighed), whole.likelihood(weighed)

    shared, alone = (
        model.counted.tokens - one
        for model, one in zip((omni, whole), tokens, strict=True)
    )
    assert (omni._loaded.plain_because, omni._loaded.apart_because) == (None, None)
    assert shared < 0.7 * alone
    for one, other in zip(found, expected, strict=True):
        assert [f.logprob for f in one.likelihoods] == pytest.approx(
            [f.logprob for f in other.likelihoods], abs=1e-4
        )
    texts = [
        [output.candidates[0].token_ids for output in model.generate(asked)]
        for model in (omni, whole)
    ]
    assert texts[0] == texts[1]


def test_omni_model_without_its_speech_part_only_writes(omni_folder, tmp_path):
    import json
    import shutil

    shutil.copytree(omni_folder, tmp_path / "silent")
    config = tmp_path / "silent" / "config.json"
    config.write_text(
        json.dumps({**json.loads(config.read_text()), "enable_audio_output": False})
    )

    silent = LocalTransformers(str(tmp_path / "silent"), max_tokens=3)

    assert silent.abilities.produces == {"text"}
    assert silent.generate([ask("hello", produces=("text",))])[0].error is None


@pytest.mark.parametrize("produces", [("text",), ("text", "audio")])
def test_video_answer_equals_that_of_the_model_by_hand(omni, produces):
    needs("av", "torchvision")
    from transformers import AutoProcessor

    data = film()

    [output] = omni.generate([ask(Video(data), "What moves?", produces=produces)])

    processor = AutoProcessor.from_pretrained(omni.path)
    frames, metadata = frames_by_hand(data)
    inputs = processor(
        text=["user: <|vision_bos|><|VIDEO|><|vision_eos|>What moves?assistant:"],
        videos=[frames],
        videos_kwargs={"video_metadata": [metadata]},
        return_tensors="pt",
    )
    whole = omni._loaded.whole
    tokens = whole.generate(
        **inputs,
        generation_mode="text",
        thinker_max_new_tokens=6,
        thinker_do_sample=False,
    )
    answer = tokens[0, inputs["input_ids"].shape[1] :]
    assert output.error is None
    assert output.text == processor.tokenizer.decode(answer, skip_special_tokens=True)
    kinds = [part.kind for part in output.candidates[0].parts]
    assert ("audio" in kinds) == ("audio" in produces)
