"""Tiny models of the testbed's families, with random weights, saved as `from_pretrained` reads them."""

from pathlib import Path
from typing import Any

SMALL: dict[str, Any] = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
}


def tokenizer() -> Any:
    """One token a character, and the families' special tokens."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {"<unk>": 0, "<s>": 1, "</s>": 2}
    for code in [10, *range(32, 127)]:
        vocabulary[chr(code)] = len(vocabulary)
    bare = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    bare.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    made = PreTrainedTokenizerFast(
        tokenizer_object=bare,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="</s>",
        model_input_names=["input_ids", "attention_mask"],
    )
    special = [
        "<fake_token_around_image>",
        "<image>",
        "<end_of_utterance>",
        "<|im_start|>",
        "<|im_end|>",
    ]
    made.add_special_tokens({"additional_special_tokens": special})
    return made


def save_mistral(folder: Path) -> Path:
    """Build a Mistral."""
    from transformers import MistralConfig, MistralForCausalLM

    words = tokenizer()
    config = MistralConfig(
        **SMALL, vocab_size=len(words), pad_token_id=2, bos_token_id=1, eos_token_id=2
    )
    return _saved(folder / "Mistral-7B", MistralForCausalLM(config), words)


def save_llava(folder: Path) -> Path:
    """Build an interleaved LLaVA."""
    from transformers import (
        CLIPImageProcessor,
        CLIPVisionConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
        Qwen2Config,
    )

    words = tokenizer()
    vision = CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=28,
        patch_size=14,
    )
    text = Qwen2Config(
        **SMALL,
        vocab_size=len(words),
        pad_token_id=2,
        bos_token_id=1,
        eos_token_id=None,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=words.convert_tokens_to_ids("<image>"),
    )
    sees = CLIPImageProcessor(
        size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}
    )
    processor = LlavaProcessor(sees, words, num_additional_image_tokens=1)
    return _saved(
        folder / "llava-interleave-qwen-7b-hf",
        LlavaForConditionalGeneration(config),
        processor,
    )


def save_idefics(folder: Path) -> Path:
    """Build an Idefics."""
    from transformers import (
        IdeficsConfig,
        IdeficsForVisionText2Text,
        IdeficsImageProcessor,
        IdeficsProcessor,
    )

    words = tokenizer()
    sizes = {
        name: value for name, value in SMALL.items() if name != "num_key_value_heads"
    }
    vision = {
        "embed_dim": 16,
        "image_size": 28,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "patch_size": 14,
    }
    config = IdeficsConfig(
        **sizes,
        vocab_size=len(words),
        additional_vocab_size=0,
        cross_layer_interval=1,
        use_resampler=False,
        vision_config=vision,
        pad_token_id=2,
        bos_token_id=1,
        eos_token_id=None,
    )
    processor = IdeficsProcessor(IdeficsImageProcessor(image_size=28), words)
    return _saved(folder / "idefics-9b", IdeficsForVisionText2Text(config), processor)


def save_idefics2(folder: Path) -> Path:
    """Build an Idefics2, the base model."""
    from transformers import (
        Idefics2Config,
        Idefics2ForConditionalGeneration,
        Idefics2ImageProcessor,
        Idefics2Processor,
    )

    words = tokenizer()
    text = {
        **SMALL,
        "model_type": "mistral",
        "vocab_size": len(words),
        "pad_token_id": 2,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    vision = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": 28,
        "patch_size": 14,
    }
    perceiver = {
        "resampler_n_latents": 4,
        "resampler_depth": 1,
        "resampler_n_heads": 2,
        "resampler_head_dim": 8,
        "num_key_value_heads": 2,
    }
    config = Idefics2Config(
        text_config=text,
        vision_config=vision,
        perceiver_config=perceiver,
        image_token_id=words.convert_tokens_to_ids("<image>"),
        pad_token_id=2,
    )
    sees = Idefics2ImageProcessor(
        do_image_splitting=False, size={"shortest_edge": 14, "longest_edge": 28}
    )
    processor = Idefics2Processor(sees, words, image_seq_len=4)
    return _saved(
        folder / "idefics2-8b-base", Idefics2ForConditionalGeneration(config), processor
    )


def _saved(folder: Path, model: Any, processor: Any) -> Path:
    model.eval().save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
