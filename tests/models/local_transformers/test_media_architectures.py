"""Media architectures: prefixes are shared only if that gives the same numbers."""

import pytest

from assay.models.local_transformers import LocalTransformers

from .tiny_media import LISTED, TEXT, ask, picture, plainly, weigh, written

pytestmark = pytest.mark.torch
VISION = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 14,
    "initializer_range": 0.5,
}
TILES = [[28, 56], [56, 28], [56, 56]]
REASONS = {
    "idefics3, tiles in one row": None,
    "llava_next, tiles of a picture": None,
    "qwen2_5_vl, windows in the encoder": None,
    "gemma3, pictures seen at once": "its tokens look at later ones",
    "qwen3_vl, pictures in several layers": "its words are read with visual_pos_masks",
}


def idefics3(make, folder):
    import transformers as known

    rows = [
        f"<row_{row}_col_{column}>" for row in range(1, 4) for column in range(1, 4)
    ]
    tokenizer = make.tokenizer(
        "<image>",
        "<fake_token_around_image>",
        "<end_of_utterance>",
        "<global-img>",
        *rows,
    )
    images = known.Idefics3ImageProcessorPil(
        size={"longest_edge": 56}, max_image_size={"longest_edge": 28}
    )
    config = known.Idefics3Config(
        vision_config=VISION,
        text_config={"model_type": "llama", **TEXT, "pad_token_id": 0},
        scale_factor=2,
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    model = make.model(known.Idefics3ForConditionalGeneration, config)
    make.folder(
        folder, model, known.Idefics3Processor(images, tokenizer, image_seq_len=1)
    )


def llava_next(make, folder):
    import transformers as known

    tokenizer = make.tokenizer("<image>")
    images = known.LlavaNextImageProcessorPil(
        size={"shortest_edge": 28},
        crop_size={"height": 28, "width": 28},
        image_grid_pinpoints=TILES,
    )
    config = known.LlavaNextConfig(
        vision_config=known.CLIPVisionConfig(**VISION, projection_dim=32),
        text_config=make.config(),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_grid_pinpoints=TILES,
    )
    processor = known.LlavaNextProcessor(
        images,
        tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        image_token="<image>",
        num_additional_image_tokens=1,
    )
    make.folder(
        folder, make.model(known.LlavaNextForConditionalGeneration, config), processor
    )


def gemma3(make, folder):
    import torch
    import transformers as known

    marks = {"image_token": "<image>", "boi_token": "<boi>", "eoi_token": "<eoi>"}
    tokenizer = known.PreTrainedTokenizerFast(
        tokenizer_object=make.tokenizer(*marks.values())._tokenizer,
        extra_special_tokens=marks,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
    )
    image, begin, end = (
        tokenizer.convert_tokens_to_ids(mark) for mark in marks.values()
    )
    config = known.Gemma3Config(
        vision_config=VISION,
        text_config={**TEXT, "head_dim": 8, "layer_types": ["full_attention"] * 2},
        mm_tokens_per_image=4,
        image_token_index=image,
        boi_token_index=begin,
        eoi_token_index=end,
    )
    model = make.model(known.Gemma3ForConditionalGeneration, config)
    with torch.no_grad():
        # If it were zero, images would have no effect.
        model.model.multi_modal_projector.mm_input_projection_weight.normal_()
    images = known.Gemma3ImageProcessorPil(size={"height": 28, "width": 28})
    make.folder(
        folder, model, known.Gemma3Processor(images, tokenizer, image_seq_length=4)
    )


def qwen(make, folder, kind, settings, text, vision):
    from transformers import Qwen2VLImageProcessorPil

    marks = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
    tokenizer = make.tokenizer(
        *marks,
        template=LISTED.replace("<image>", "".join((marks[0], marks[2], marks[1]))),
    )
    start, end, image, video = (tokenizer.convert_tokens_to_ids(mark) for mark in marks)
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
    sizes = {
        "depth": 2,
        "hidden_size": 32,
        "out_hidden_size": 32,
        "num_heads": 2,
        "intermediate_size": 48,
    }
    config = settings(
        text_config={**TEXT, "rope_parameters": rope, **text},
        vision_config={**sizes, **vision},
        vision_start_token_id=start,
        vision_end_token_id=end,
        image_token_id=image,
        video_token_id=video,
    )
    make.folder(folder, make.model(kind, config), tokenizer)
    Qwen2VLImageProcessorPil(
        min_pixels=28 * 28, max_pixels=84 * 84, patch_size=14
    ).save_pretrained(folder)


def build(name, make, folder):
    import transformers as known

    if name == "qwen2_5_vl":
        kind, settings = (
            known.Qwen2_5_VLForConditionalGeneration,
            known.Qwen2_5_VLConfig,
        )
        qwen(make, folder, kind, settings, {}, {"fullatt_block_indexes": [1]})
    elif name == "qwen3_vl":
        kind, settings = known.Qwen3VLForConditionalGeneration, known.Qwen3VLConfig
        qwen(
            make,
            folder,
            kind,
            settings,
            {"head_dim": 8},
            {"deepstack_visual_indexes": [0], "patch_size": 14},
        )
    else:
        {"idefics3": idefics3, "llava_next": llava_next, "gemma3": gemma3}[name](
            make, folder
        )
    return LocalTransformers(str(folder), max_tokens=8)


@pytest.mark.parametrize("name", REASONS)
def test_media_architectures_give_the_numbers_and_texts_of_the_plain_model(
    name, make, tmp_path
):
    model = build(name.split(",")[0], make, tmp_path)
    plain = plainly(LocalTransformers(model.path, max_tokens=8))
    header = [
        picture("red"),
        "A first picture of some color. ",
        picture("blue", (80, 40)),
        "A second one. ",
    ]
    contents = [
        [*header, picture((9, 99, 30 * at)), f"What is number {at}?"] for at in range(3)
    ]
    weighed = [weigh(*content, options=("yes", "no")) for content in contents]
    asked = [ask(*content) for content in contents]
    tokens = [one.counted.tokens for one in (model, plain)]

    found, expected = model.likelihood(weighed), plain.likelihood(weighed)

    shared, alone = (
        one.counted.tokens - before
        for one, before in zip((model, plain), tokens, strict=True)
    )
    loaded = model._loaded
    assert (loaded.plain_because, loaded.apart_because) == (REASONS[name], None)
    assert shared < 0.6 * alone if REASONS[name] is None else shared == alone
    for one, other in zip(found, expected, strict=True):
        assert [f.logprob for f in one.likelihoods] == pytest.approx(
            [f.logprob for f in other.likelihoods], abs=1e-4
        )
    assert written(model.generate(asked)) == written(plain.generate(asked))
