"""Tiny models of real architectures with random weights, made on the spot, for the workers that ship."""

import importlib.util
import os

import pytest

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
needs_torch = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "transformers")),
    reason="pip install torch transformers",
)
CLASSES = {0: "N/A", 1: "clock", 2: "cup", 3: "car", 4: "mouse", 5: "ball"}


def pytest_collection_modifyitems(items):
    for item in items:
        if "workers" in str(item.path) and item.get_closest_marker("torch"):
            item.add_marker(needs_torch)


@pytest.fixture(autouse=True)
def one_thread():
    if importlib.util.find_spec("torch") is None:
        return
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)


def byte_tokenizer(words=()):
    """One token for each byte, and one for each of some whole words."""
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {character: number for number, character in enumerate(alphabet)}
    for special in ("<pad>", "<s>", "</s>"):
        vocabulary[special] = len(vocabulary)
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        special_tokens=[("<s>", vocabulary["<s>"]), ("</s>", vocabulary["</s>"])],
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        model_max_length=64,
    )
    tokenizer.add_tokens([AddedToken(word, normalized=False) for word in words])
    return tokenizer


def small_vision(**changes):
    sizes = {
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 32,
        "patch_size": 8,
    }
    return {**sizes, **changes}


def small_text(tokenizer, **changes):
    sizes = {
        "vocab_size": len(tokenizer),
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "max_position_embeddings": 64,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    return {**sizes, **changes}


@pytest.fixture(scope="session")
def clip_folder(tmp_path_factory):
    from transformers import CLIPConfig, CLIPImageProcessorPil, CLIPModel, CLIPProcessor

    folder = tmp_path_factory.mktemp("clip")
    tokenizer = byte_tokenizer()
    config = CLIPConfig(
        text_config=small_text(tokenizer),
        vision_config=small_vision(),
        projection_dim=8,
    )
    CLIPModel(config).save_pretrained(folder)
    images = CLIPImageProcessorPil(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
    )
    CLIPProcessor(images, tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def detr_folder(tmp_path_factory):
    import torch
    from transformers import (
        DetrConfig,
        DetrForObjectDetection,
        DetrImageProcessorPil,
        ResNetConfig,
    )

    folder = tmp_path_factory.mktemp("detr")
    backbone = ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 8, 8, 8],
        depths=[1, 1, 1, 1],
        out_features=["stage4"],
    )
    config = DetrConfig(
        backbone_config=backbone,
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        backbone=None,
        d_model=16,
        num_queries=6,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        id2label=CLASSES,
        label2id={name: number for number, name in CLASSES.items()},
    )
    model = DetrForObjectDetection(config)
    with torch.no_grad():
        model.class_labels_classifier.bias[1] = 9.0  # whatever it looks at is a clock
    model.save_pretrained(folder)
    DetrImageProcessorPil(
        size={"shortest_edge": 32, "longest_edge": 64}
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def dino_folder(tmp_path_factory):
    from transformers import (
        BertConfig,
        GroundingDinoConfig,
        GroundingDinoForObjectDetection,
        GroundingDinoImageProcessorPil,
        GroundingDinoProcessor,
        SwinConfig,
    )

    folder = tmp_path_factory.mktemp("grounding_dino")
    tokenizer = byte_tokenizer()
    backbone = SwinConfig(
        image_size=32,
        embed_dim=8,
        depths=[1, 1, 1, 1],
        num_heads=[1, 1, 1, 1],
        window_size=2,
        out_features=["stage2", "stage3", "stage4"],
    )
    config = GroundingDinoConfig(
        backbone_config=backbone,
        text_config=BertConfig(**small_text(tokenizer)),
        d_model=32,
        num_queries=8,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        num_feature_levels=3,
        max_text_len=64,
    )
    GroundingDinoForObjectDetection(config).save_pretrained(folder)
    images = GroundingDinoImageProcessorPil(
        size={"shortest_edge": 32, "longest_edge": 64}
    )
    GroundingDinoProcessor(images, tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def owl_folder(tmp_path_factory):
    from transformers import (
        OwlViTConfig,
        OwlViTForObjectDetection,
        OwlViTImageProcessorPil,
        OwlViTProcessor,
    )

    folder = tmp_path_factory.mktemp("owl")
    tokenizer = byte_tokenizer()
    config = OwlViTConfig(
        text_config=small_text(tokenizer, max_position_embeddings=16),
        vision_config=small_vision(),
        projection_dim=16,
    )
    OwlViTForObjectDetection(config).save_pretrained(folder)
    tokenizer.model_max_length = 16
    OwlViTProcessor(
        OwlViTImageProcessorPil(size={"height": 32, "width": 32}), tokenizer
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def owl2_folder(tmp_path_factory):
    from transformers import (
        Owlv2Config,
        Owlv2ForObjectDetection,
        Owlv2ImageProcessorPil,
        Owlv2Processor,
    )

    folder = tmp_path_factory.mktemp("owl2")
    tokenizer = byte_tokenizer()
    config = Owlv2Config(
        text_config=small_text(tokenizer, max_position_embeddings=16),
        vision_config=small_vision(),
        projection_dim=16,
    )
    Owlv2ForObjectDetection(config).save_pretrained(folder)
    tokenizer.model_max_length = 16
    Owlv2Processor(
        Owlv2ImageProcessorPil(size={"height": 32, "width": 32}), tokenizer
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def mask_folder(tmp_path_factory):
    from transformers import (
        Mask2FormerConfig,
        Mask2FormerForUniversalSegmentation,
        Mask2FormerImageProcessorPil,
        SwinConfig,
    )

    folder = tmp_path_factory.mktemp("mask2former")
    backbone = SwinConfig(
        image_size=64,
        embed_dim=8,
        depths=[1, 1, 1, 1],
        num_heads=[1, 1, 1, 1],
        window_size=2,
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )
    config = Mask2FormerConfig(
        backbone_config=backbone,
        hidden_dim=32,
        feature_size=32,
        mask_feature_size=32,
        encoder_layers=1,
        decoder_layers=2,
        num_attention_heads=2,
        num_queries=6,
        dim_feedforward=16,
        encoder_feedforward_dim=16,
        id2label=CLASSES,
        label2id={name: number for number, name in CLASSES.items()},
    )
    Mask2FormerForUniversalSegmentation(config).save_pretrained(folder)
    Mask2FormerImageProcessorPil(size={"height": 64, "width": 64}).save_pretrained(
        folder
    )
    return folder


@pytest.fixture(scope="session")
def blip_folder(tmp_path_factory):
    from transformers import (
        BlipConfig,
        BlipForQuestionAnswering,
        BlipImageProcessorPil,
        BlipProcessor,
    )

    folder = tmp_path_factory.mktemp("blip")
    tokenizer = byte_tokenizer(["yes", "no"])
    text = small_text(
        tokenizer, encoder_hidden_size=16, sep_token_id=tokenizer.eos_token_id
    )
    config = BlipConfig(
        text_config=text,
        vision_config=small_vision(),
        projection_dim=8,
        image_text_hidden_size=8,
    )
    BlipForQuestionAnswering(config).save_pretrained(folder)
    BlipProcessor(
        BlipImageProcessorPil(size={"height": 32, "width": 32}), tokenizer
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def vilt_folder(tmp_path_factory):
    from transformers import (
        ViltConfig,
        ViltForQuestionAnswering,
        ViltImageProcessorPil,
        ViltProcessor,
    )

    folder = tmp_path_factory.mktemp("vilt")
    tokenizer = byte_tokenizer()
    answers = {0: "yes", 1: "no", 2: "two"}
    sizes = {**small_vision(), **small_text(tokenizer)}
    config = ViltConfig(
        **sizes,
        id2label=answers,
        label2id={name: number for number, name in answers.items()},
        num_images=-1,
    )
    ViltForQuestionAnswering(config).save_pretrained(folder)
    ViltProcessor(
        ViltImageProcessorPil(size={"shortest_edge": 32}, size_divisor=8), tokenizer
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def llava_folder(tmp_path_factory):
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    folder = tmp_path_factory.mktemp("llava")
    tokenizer = byte_tokenizer(["<image>", "Yes", "yes", "No", "no"])
    text = LlamaConfig(
        **{
            **small_text(tokenizer, max_position_embeddings=512),
            "num_key_value_heads": 2,
        }
    )
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**small_vision()),
        text_config=text,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
    )
    LlavaForConditionalGeneration(config).save_pretrained(folder)
    images = CLIPImageProcessorPil(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
    )
    template = (
        "{% for m in messages %}{% for part in m.content %}{% if part.type == 'image' %}<image>{% else %}"
        "{{ part.text }}{% endif %}{% endfor %}{% endfor %} A:"
    )
    LlavaProcessor(
        images,
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        chat_template=template,
        num_additional_image_tokens=1,
    ).save_pretrained(folder)
    return folder
