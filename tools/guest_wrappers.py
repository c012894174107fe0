"""Has local model wrappers of a VLMEvalKit checkout answer, in place and unchanged, with tiny random weights.

    python tools/guest_wrappers.py CHECKOUT

The weights, the tokenizer and the processor of each are made on the spot. On a machine without a GPU, `cuda` means the
processor here: the wrappers name it themselves.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.guest_worlds import synthetic

SPECIAL = (
    "<pad>",
    "<s>",
    "</s>",
    "<unk>",
    "<image>",
    "<video>",
    "<end_of_utterance>",
    "<fake_token_around_image>",
    "<global-img>",
    "<racm3:break>",
    "<eoss>",
    "<reserved08706>",
)
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}<image>{% else %}{{ c['text'] }}{% endif %}{% endfor %}\n{% endfor %}assistant:"
)
SMALL = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}
TEXT = {
    **SMALL,
    "num_key_value_heads": 2,
    "vocab_size": 400,
    "max_position_embeddings": 4096,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
SIGHT = {**SMALL, "image_size": 28, "patch_size": 14}


def main() -> None:
    """Print each wrapper's answer to an image and a question."""
    from assay.dialects.vlmeval.vlmeval_toolkit import TOOLKIT

    checkout = Path(sys.argv[1]).resolve()
    without_gpu()
    folder = Path(tempfile.mkdtemp(prefix="guest-wrappers-"))
    synthetic.image(1).save(folder / "a.png")
    message = [
        {"type": "image", "value": str(folder / "a.png")},
        {"type": "text", "value": "What is shown?"},
    ]
    for name, (make, settings) in WRAPPERS.items():
        place, _, cls = name.partition(":")
        try:
            weights = folder / cls
            make(weights)
            wrapper = getattr(
                TOOLKIT.load(str(checkout / "vlmeval" / "vlm" / place)).module, cls
            )(str(weights), **settings)
            answer = wrapper.generate_inner(message, "MMBench_DEV_EN")
            print(f"{name:40} {str(answer)[-60:]!r}", flush=True)
        except Exception as error:  # noqa: BLE001 - one line for each
            print(
                f"{name:40} fails: {type(error).__name__}: {str(error)[:200]}",
                flush=True,
            )


def without_gpu() -> None:
    """Lets `cuda` mean the processor, where there is no other."""
    import torch
    from transformers import BatchFeature, GenerationMixin

    generate = GenerationMixin.generate
    GenerationMixin.generate = lambda self, *given, **more: generate(
        self, *given, **{**more, "max_new_tokens": 4}
    )
    if torch.cuda.is_available():
        return
    torch.cuda.empty_cache = lambda: None
    for kind in (torch.nn.Module, torch.Tensor, BatchFeature):
        move = kind.to
        kind.to = lambda self, *given, move=move, **more: move(  # type: ignore[method-assign]
            self,
            *("cpu" if str(value).startswith("cuda") else value for value in given),
            **{k: "cpu" if str(v).startswith("cuda") else v for k, v in more.items()},
        )
    torch.nn.Module.cuda = lambda self, *given: self  # type: ignore[method-assign]
    torch.Tensor.cuda = lambda self, *given, **more: self  # type: ignore[method-assign]


def tokenizer(cls: Any = None) -> Any:
    """Bytes as tokens, and the special ones."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = {word: number for number, word in enumerate([*SPECIAL, *alphabet])}
    made = Tokenizer(models.BPE(vocab=words, merges=[], unk_token="<unk>"))
    made.pre_tokenizer, made.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    made.add_special_tokens(list(SPECIAL))
    given = {
        "pad_token": "<pad>",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "sep_token": "<eoss>",
        "model_input_names": ["input_ids", "attention_mask"],
    }
    found = (cls or PreTrainedTokenizerFast)(
        tokenizer_object=made, **given, model_max_length=4096
    )
    found.chat_template = TEMPLATE
    return found


def saved(folder: Path, model: Any, processor: Any) -> None:
    """Save a checkpoint as the hub stores it."""
    model.generation_config.pad_token_id = 0
    model.save_pretrained(folder)
    processor.chat_template = TEMPLATE
    processor.save_pretrained(folder)


def kosmos2(folder: Path) -> None:
    """Return a tiny Kosmos-2."""
    import transformers as t

    text = {
        "vocab_size": 2000,
        "embed_dim": 32,
        "layers": 1,
        "ffn_dim": 32,
        "attention_heads": 2,
        "pad_token_id": 0,
    }
    config = t.Kosmos2Config(text_config=text, vision_config=SIGHT, latent_query_num=64)
    images = t.CLIPImageProcessor(
        size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}
    )
    processor = t.Kosmos2Processor(
        images, tokenizer(t.XLMRobertaTokenizerFast), num_patch_index_tokens=1024
    )
    saved(folder, t.Kosmos2ForConditionalGeneration(config), processor)


def llava_onevision(folder: Path) -> None:
    """Return a tiny LLaVA-OneVision."""
    import transformers as t

    pinpoints = [[28, 56], [56, 28]]
    config = t.LlavaOnevisionConfig(
        t.SiglipVisionConfig(**SIGHT, vision_use_head=False),
        t.Qwen2Config(**TEXT),
        image_token_index=4,
        video_token_index=5,
        image_grid_pinpoints=pinpoints,
        vision_feature_layer=-1,
    )
    size = {"height": 28, "width": 28}
    processor = t.LlavaOnevisionProcessor(
        t.LlavaOnevisionImageProcessor(size=size, image_grid_pinpoints=pinpoints),
        tokenizer(),
        t.LlavaOnevisionVideoProcessor(size=size),
        num_image_tokens=4,
        vision_feature_select_strategy="full",
    )
    saved(folder, t.LlavaOnevisionForConditionalGeneration(config), processor)


def paligemma(folder: Path) -> None:
    """Return a tiny PaliGemma."""
    import transformers as t

    config = t.PaliGemmaConfig(
        t.SiglipVisionConfig(
            **SIGHT, projection_dim=32, vision_use_head=False
        ).to_dict(),
        t.GemmaConfig(**TEXT, head_dim=16).to_dict(),
        image_token_index=4,
        projection_dim=32,
        hidden_size=32,
    )
    images = t.SiglipImageProcessor(size={"height": 28, "width": 28})
    images.image_seq_length = 4
    saved(
        folder,
        t.PaliGemmaForConditionalGeneration(config),
        t.PaliGemmaProcessor(images, tokenizer(t.GemmaTokenizerFast)),
    )


def idefics3(folder: Path) -> None:
    """Return a tiny Idefics3."""
    import transformers as t

    config = t.Idefics3Config(
        vision_config=t.Idefics3VisionConfig(**SIGHT).to_dict(),
        text_config=t.LlamaConfig(**TEXT).to_dict(),
        image_token_id=4,
        scale_factor=2,
        pad_token_id=0,
    )
    images = t.Idefics3ImageProcessor(
        size={"longest_edge": 56},
        max_image_size={"longest_edge": 28},
        do_image_splitting=False,
    )
    saved(
        folder,
        t.Idefics3ForConditionalGeneration(config),
        t.Idefics3Processor(images, tokenizer(), image_seq_len=1),
    )


def chameleon(folder: Path) -> None:
    """Return a tiny Chameleon."""
    import transformers as t

    sight = {
        "embed_dim": 16,
        "num_embeddings": 16,
        "latent_channels": 16,
        "resolution": 32,
        "base_channels": 32,
        "channel_multiplier": [1, 2],
        "num_res_blocks": 1,
    }
    letters = [
        "".join(chr(65 + int(digit)) for digit in str(number)) for number in range(16)
    ]
    codes = {f"IMGIMG{name}Z": 300 + number for number, name in enumerate(letters)} | {
        "<image>": 4
    }
    config = t.ChameleonConfig(
        **{**TEXT, "vocab_size": 400}, vq_config=sight, vocabulary_map=codes
    )
    size = {"shortest_edge": 32}
    images = t.ChameleonImageProcessor(size=size, crop_size={"height": 32, "width": 32})
    processor = t.ChameleonProcessor(
        images, tokenizer(t.LlamaTokenizerFast), image_seq_length=256
    )
    saved(folder, t.ChameleonForConditionalGeneration(config), processor)


WRAPPERS: dict[str, tuple[Callable[[Path], None], dict[str, Any]]] = {
    "kosmos.py:Kosmos2": (kosmos2, {}),
    "llava/llava.py:LLaVA_OneVision_HF": (llava_onevision, {}),
    "gemma.py:PaliGemma": (paligemma, {}),
    "granite_docling.py:DOCLING": (idefics3, {}),
    "chameleon.py:Chameleon": (chameleon, {}),
}


if __name__ == "__main__":
    main()
