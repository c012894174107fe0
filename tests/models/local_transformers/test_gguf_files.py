"""GGUF files read by transformers: tiny random models, complete, tied, or without a tensor."""

import importlib.util

import pytest

from assay.core import GenerateOptions, Message, ModelError, Prompt, Request
from assay.models.local_transformers import LocalTransformers

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(
        importlib.util.find_spec("gguf") is None, reason="pip install gguf"
    ),
]
SHAPES = {
    "token_embd.weight": (259, 32), "output.weight": (259, 32), "output_norm.weight": (32,),
    "blk.0.attn_norm.weight": (32,), "blk.0.ffn_norm.weight": (32,), "blk.0.attn_q.weight": (32, 32),
    "blk.0.attn_k.weight": (16, 32), "blk.0.attn_v.weight": (16, 32), "blk.0.attn_output.weight": (32, 32),
    "blk.0.ffn_gate.weight": (48, 32), "blk.0.ffn_up.weight": (48, 32), "blk.0.ffn_down.weight": (32, 48),
}  # fmt: skip


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write a one-layer Llama with byte tokens, without some of its tensors."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def write(*without):
        import numpy as np
        from gguf import GGUFWriter
        from tokenizers import pre_tokenizers

        file = tmp_path / "tiny.gguf"
        writer = GGUFWriter(file, "llama")
        numbers = {
            "context_length": 64,
            "embedding_length": 32,
            "block_count": 1,
            "feed_forward_length": 48,
            "head_count": 4,
            "head_count_kv": 2,
            "layer_norm_rms_eps": 1e-5,
            "rope_dimension_count": 8,
            "vocab_size": 259,
            "bos_token_id": 256,
            "eos_token_id": 257,
        }
        for name, value in numbers.items():
            getattr(writer, f"add_{name}")(value)
        writer.add_tokenizer_model("gpt2")
        writer.add_token_list(
            [*sorted(pre_tokenizers.ByteLevel.alphabet()), "<s>", "</s>", "ab"]
        )
        writer.add_token_types([1] * 256 + [3, 3, 1])
        writer.add_token_merges(["a b"])
        drawn = np.random.default_rng(0)
        for name, shape in SHAPES.items():
            if name not in without:
                writer.add_tensor(name, drawn.normal(0, 0.2, shape).astype(np.float32))
        for step in ("header", "kv_data", "tensors"):
            getattr(writer, f"write_{step}_to_file")()
        writer.close()
        return str(file)

    return write


def answer(file):
    request = Request(Prompt((Message.of("", "xyz"),)), GenerateOptions(max_tokens=3))
    return LocalTransformers(file).generate([request])[0].candidates[0]


@pytest.mark.parametrize("without", [(), ("output.weight",)], ids=["whole", "tied"])
def test_gguf_file_with_all_tensors_answers(written, without):
    assert len(answer(written(*without)).token_ids) == 3


def test_gguf_file_without_a_tensor_is_a_model_error_and_is_not_cached(
    written, tmp_path
):
    file = written("blk.0.ffn_down.weight")

    for _ in range(2):
        with pytest.raises(
            ModelError,
            match=r"tiny\.gguf: the weights lack model\.layers\.0\.mlp\.down_proj\.weight;",
        ):
            answer(file)

    assert list((tmp_path / "cache" / "assay" / "converted").iterdir()) == []
