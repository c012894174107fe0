"""Tiny media models of real architectures with random weights, and media for them."""

import io
import math
import struct
import wave

import pytest

from assay.core import Audio, GenerateOptions, Image, Message, Prompt, Request
from assay.models.local_transformers import LocalTransformers

TEXT = {
    "vocab_size": 300,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
    "initializer_range": 0.2,
}
LISTED = (
    "{% for m in messages %}{{ m.role }}: {% for c in m.content %}{% if c.type == 'image' %}<image>"
    "{% else %}{{ c.text }}{% endif %}{% endfor %}{{ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
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
        tone = (
            int(8000 * math.sin(2 * math.pi * hertz * t / rate))
            for t in range(int(seconds * rate))
        )
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
        images = CLIPImageProcessorPil(
            size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}
        )
        vision = CLIPVisionConfig(
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=2,
            image_size=28,
            patch_size=14,
            projection_dim=32,
            initializer_range=0.5,
        )
        config = LlavaConfig(
            vision_config=vision,
            text_config=make.config(),
            image_seq_length=4,
            image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        )
        processor = LlavaProcessor(
            image_processor=images,
            tokenizer=tokenizer,
            patch_size=14,
            vision_feature_select_strategy="default",
            image_token="<image>",
            num_additional_image_tokens=1,
            chat_template=LISTED,
        )
        make.folder(
            folder, make.model(LlavaForConditionalGeneration, config), processor
        )
    return LocalTransformers(str(folder), max_tokens=5)


@pytest.fixture
def qwen2_vl(make, folders):
    from transformers import (
        Qwen2VLConfig,
        Qwen2VLForConditionalGeneration,
        Qwen2VLImageProcessorPil,
    )

    folder = folders / "qwen2_vl"
    if not folder.exists():
        marks = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
        template = LISTED.replace(
            "<image>", "<|vision_start|><|image_pad|><|vision_end|>"
        )
        tokenizer = make.tokenizer(*marks, template=template)
        start, end, image, video = (
            tokenizer.convert_tokens_to_ids(mark) for mark in marks
        )
        rope = {
            "rope_type": "default",
            "rope_theta": 10000.0,
            "mrope_section": [1, 1, 2],
        }
        config = Qwen2VLConfig(
            text_config={**TEXT, "rope_parameters": rope},
            vision_config={
                "depth": 2,
                "embed_dim": 32,
                "hidden_size": 32,
                "num_heads": 2,
                "mlp_ratio": 2,
            },
            vision_start_token_id=start,
            vision_end_token_id=end,
            image_token_id=image,
            video_token_id=video,
        )
        make.folder(
            folder, make.model(Qwen2VLForConditionalGeneration, config), tokenizer
        )
        Qwen2VLImageProcessorPil(
            min_pixels=28 * 28, max_pixels=84 * 84
        ).save_pretrained(folder)
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
            "d_model": 32,
            "encoder_layers": 2,
            "encoder_attention_heads": 2,
            "encoder_ffn_dim": 48,
            "num_mel_bins": 80,
            "max_source_positions": 1500,
            "init_std": 0.5,
        }
        config = Qwen2AudioConfig(
            audio_config=audio,
            text_config={"model_type": "qwen2", **TEXT},
            audio_token_index=tokenizer.convert_tokens_to_ids("<|AUDIO|>"),
        )
        processor = Qwen2AudioProcessor(
            feature_extractor=WhisperFeatureExtractor(feature_size=80),
            tokenizer=tokenizer,
        )
        make.folder(
            folder, make.model(Qwen2AudioForConditionalGeneration, config), processor
        )
    return LocalTransformers(str(folder), max_tokens=5)


@pytest.fixture
def whisper(make, folders):
    from transformers import (
        WhisperConfig,
        WhisperFeatureExtractor,
        WhisperForConditionalGeneration,
    )

    folder = folders / "whisper"
    if not folder.exists():
        config = WhisperConfig(
            vocab_size=1802,
            d_model=32,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=48,
            decoder_ffn_dim=48,
            num_mel_bins=80,
            init_std=1.0,
            max_source_positions=1500,
            max_target_positions=64,
            decoder_start_token_id=256,
            bos_token_id=256,
            eos_token_id=257,
            pad_token_id=258,
            suppress_tokens=[],
            begin_suppress_tokens=[],
        )
        model = make.model(WhisperForConditionalGeneration, config)
        make.folder(folder, model, make.tokenizer())
        WhisperFeatureExtractor(feature_size=80).save_pretrained(folder)
    return LocalTransformers(str(folder), max_tokens=5)


@pytest.fixture
def janus(make, folders):
    from transformers import (
        JanusConfig,
        JanusForConditionalGeneration,
        JanusImageProcessorPil,
        JanusProcessor,
    )
    from transformers import PreTrainedTokenizerFast as Fast

    folder = folders / "janus"
    if not folder.exists():
        marks = {
            "image_token": "<image>",
            "boi_token": "<begin_of_image>",
            "eoi_token": "<end_of_image>",
        }
        backend = make.tokenizer(*marks.values())._tokenizer
        named = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
        tokenizer = Fast(tokenizer_object=backend, extra_special_tokens=marks, **named)
        vision = {
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 16,
            "patch_size": 8,
            "projection_dim": 32,
            "num_image_tokens": 4,
            "mlp_ratio": 2.0,
        }
        decoder = {
            "embed_dim": 8,
            "num_embeddings": 32,
            "latent_channels": 32,
            "base_channels": 32,
            "num_res_blocks": 1,
            "channel_multiplier": [1, 1],
            "num_patches": 2,
            "projection_dim": 32,
            "image_token_embed_dim": 32,
        }
        config = JanusConfig(
            text_config=make.config().to_dict(),
            vision_config=vision,
            vq_config=decoder,
            image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        )
        images = JanusImageProcessorPil(size={"height": 16, "width": 16}, min_size=8)
        processor = JanusProcessor(
            images, tokenizer, chat_template=LISTED, num_image_tokens=4
        )
        make.folder(
            folder, make.model(JanusForConditionalGeneration, config), processor
        )
    return LocalTransformers(str(folder), max_tokens=5)


def ask(*content, **options):
    return Request(Prompt((Message.of("user", *content),)), GenerateOptions(**options))


def written(outputs):
    assert [output.error for output in outputs] == [None] * len(outputs)
    return [output.candidates[0].token_ids for output in outputs]


def weigh(*content, options):
    return Request(Prompt((Message.of("user", *content),), continuations=options))


def plainly(model):
    """Return the model with prefix sharing turned off."""
    model._ready().plain_because = "a test wants it so"
    return model
