"""Tiny random video models of real architectures, and a video for them.

Their processors are saved as files, because transformers' video processors need
torchvision to be created.
"""

import importlib.util
import io
import json

import pytest

from .tiny_media import TEXT

TEMPLATE = (
    "{% for m in messages %}{{ m.role }}: {% for c in m.content %}{% if c.type == 'image' %}IMAGE"
    "{% elif c.type == 'video' %}VIDEO{% else %}{{ c.text }}{% endif %}{% endfor %}{{ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
VISION = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 14,
    "initializer_range": 0.5,
}
PATCHES = {"shortest_edge": 28 * 28, "longest_edge": 56 * 56}
SQUARE = {"height": 28, "width": 28}
ROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}


def film(count=10, rate=4, size=(56, 42)):
    """Return an MP4 video in which a bright bar moves over a blue ground."""
    import av
    import numpy as np

    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=rate)
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        for number in range(count):
            pixels = np.zeros((size[1], size[0], 3), np.uint8)
            pixels[..., 2] = 20 * (number % 12)
            pixels[:, 4 * (number % 12) :][:, :8] = 255
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return buffer.getvalue()


def needs(*names):
    for name in names:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"pip install {name}")


def frames_by_hand(data):
    """Return all frames of a video, and the metadata that a processor gets."""
    import av
    import numpy as np

    with av.open(io.BytesIO(data)) as container:
        stream = container.streams.video[0]
        rate = float(stream.average_rate)
        frames = [
            frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)
        ]
    metadata = {
        "total_num_frames": len(frames),
        "fps": rate,
        "duration": len(frames) / rate,
        "frames_indices": list(range(len(frames))),
    }
    return np.stack(frames), metadata


def save(folder, model, tokenizer, images, videos, processor=None):
    """Write a model folder with the files of its processor."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    images.save_pretrained(folder)
    (folder / "video_preprocessor_config.json").write_text(json.dumps(videos))
    (folder / "processor_config.json").write_text(json.dumps(processor or {}))


def template(image, video):
    return TEMPLATE.replace("IMAGE", image).replace("VIDEO", video)


def qwen2_vl(make, folder, family="Qwen2VL"):
    import transformers as known

    marks = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
    tokenizer = make.tokenizer(
        *marks,
        template=template(
            "<|vision_start|><|image_pad|><|vision_end|>",
            "<|vision_start|><|video_pad|><|vision_end|>",
        ),
    )
    start, end, image, video = (tokenizer.convert_tokens_to_ids(mark) for mark in marks)
    vision = {"depth": 2, "hidden_size": 32, "num_heads": 2}
    if family == "Qwen2VL":
        vision |= {"embed_dim": 32, "mlp_ratio": 2}
    else:
        vision |= {
            "out_hidden_size": 32,
            "intermediate_size": 48,
            "fullatt_block_indexes": [1],
        }
    config = getattr(known, f"{family}Config")(
        text_config={**TEXT, "rope_parameters": ROPE},
        vision_config=vision,
        vision_start_token_id=start,
        vision_end_token_id=end,
        image_token_id=image,
        video_token_id=video,
    )
    model = make.model(getattr(known, f"{family}ForConditionalGeneration"), config)
    images = known.Qwen2VLImageProcessorPil(min_pixels=28 * 28, max_pixels=56 * 56)
    videos = {"video_processor_type": "Qwen2VLVideoProcessor", "size": PATCHES}
    save(folder, model, tokenizer, images, videos)


def qwen2_5_vl(make, folder):
    qwen2_vl(make, folder, "Qwen2_5_VL")


def llava_onevision(make, folder):
    import transformers as known

    tokenizer = make.tokenizer(
        "<image>", "<video>", template=template("<image>", "<video>")
    )
    tiles = [[28, 28], [28, 56]]
    config = known.LlavaOnevisionConfig(
        vision_config={
            "model_type": "siglip_vision_model",
            **VISION,
            "vision_use_head": False,
        },
        text_config={"model_type": "llama", **TEXT},
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_index=tokenizer.convert_tokens_to_ids("<video>"),
        image_grid_pinpoints=tiles,
    )
    model = make.model(known.LlavaOnevisionForConditionalGeneration, config)
    images = known.LlavaOnevisionImageProcessorPil(
        size=SQUARE, image_grid_pinpoints=tiles
    )
    videos = {"video_processor_type": "LlavaOnevisionVideoProcessor", "size": SQUARE}
    processor = {"num_image_tokens": 4, "vision_feature_select_strategy": "full"}
    save(folder, model, tokenizer, images, videos, processor)


def llava_next_video(make, folder):
    import transformers as known

    tokenizer = make.tokenizer(
        "<image>", "<video>", template=template("<image>", "<video>")
    )
    tiles = [[28, 56], [56, 28]]
    config = known.LlavaNextVideoConfig(
        vision_config=known.CLIPVisionConfig(**VISION, projection_dim=32),
        text_config=make.config(),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_index=tokenizer.convert_tokens_to_ids("<video>"),
        image_grid_pinpoints=tiles,
    )
    model = make.model(known.LlavaNextVideoForConditionalGeneration, config)
    images = known.LlavaNextImageProcessorPil(
        size={"shortest_edge": 28}, crop_size=SQUARE, image_grid_pinpoints=tiles
    )
    videos = {
        "video_processor_type": "LlavaNextVideoVideoProcessor",
        "size": {"shortest_edge": 28},
        "crop_size": SQUARE,
        "do_center_crop": True,
    }
    processor = {
        "patch_size": 14,
        "vision_feature_select_strategy": "default",
        "num_additional_image_tokens": 1,
    }
    save(folder, model, tokenizer, images, videos, processor)


def smolvlm(make, folder):
    """Save a SmolVLM whose chat template, like that of early versions, leaves videos out."""
    import transformers as known

    tokenizer = make.tokenizer(
        "<image>",
        "<fake_token_around_image>",
        "<end_of_utterance>",
        "<global-img>",
        "<video>",
        template=template("<image>", ""),
    )
    config = known.SmolVLMConfig(
        vision_config=VISION,
        text_config={"model_type": "llama", **TEXT, "pad_token_id": 0},
        scale_factor=2,
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    model = make.model(known.SmolVLMForConditionalGeneration, config)
    images = known.SmolVLMImageProcessorPil(
        size={"longest_edge": 28}, max_image_size={"longest_edge": 28}
    )
    videos = {
        "video_processor_type": "SmolVLMVideoProcessor",
        "size": {"longest_edge": 28},
        "max_image_size": {"longest_edge": 28},
        "fps": 1,
        "num_frames": 8,
        "do_sample_frames": True,
    }
    save(folder, model, tokenizer, images, videos, {"image_seq_len": 1})


def internvl(make, folder):
    import transformers as known

    marks = {
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }
    tokenizer = make.tokenizer(
        *marks.values(), template=template("<IMG_CONTEXT>", "<video>")
    )
    tokenizer._set_model_specific_special_tokens(marks)
    vision = {**VISION, "image_size": [28, 28], "patch_size": [14, 14]}
    config = known.InternVLConfig(
        vision_config=vision,
        text_config={"model_type": "llama", **TEXT},
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=1,
    )
    model = make.model(known.InternVLForConditionalGeneration, config)
    images = known.GotOcr2ImageProcessorPil(size=SQUARE)
    videos = {"video_processor_type": "InternVLVideoProcessor", "size": SQUARE}
    save(folder, model, tokenizer, images, videos, {"image_seq_length": 1})


FAMILIES = {
    "qwen2_vl": qwen2_vl,
    "qwen2_5_vl": qwen2_5_vl,
    "llava_onevision": llava_onevision,
    "llava_next_video": llava_next_video,
    "smolvlm": smolvlm,
    "internvl": internvl,
}
