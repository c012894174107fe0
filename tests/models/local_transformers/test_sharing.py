"""Architectures with other kinds of attention: prefixes are shared only if results agree."""

import pytest

from assay.core import GenerateOptions, Message, Prompt, Request
from assay.models.local_transformers import LocalTransformers

pytestmark = pytest.mark.torch
HEADER = "A header that is long enough to be worth keeping for all of the questions. "
SIZES = {
    "vocab_size": 300,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "initializer_range": 0.2,
}


def configuration(name):
    import transformers

    if name == "mistral, a window of 24":
        return transformers.MistralForCausalLM, transformers.MistralConfig(
            sliding_window=24, head_dim=8, **SIZES
        )
    if name == "gemma2, scores capped":
        config = transformers.Gemma2Config(
            head_dim=8,
            sliding_window=24,
            attn_logit_softcapping=5.0,
            final_logit_softcapping=3.0,
            **SIZES,
        )
        config._attn_implementation = "eager"
        return transformers.Gemma2ForCausalLM, config
    if name == "qwen3":
        return transformers.Qwen3ForCausalLM, transformers.Qwen3Config(
            head_dim=8, **SIZES
        )
    if name == "gpt2, learned positions":
        small = {
            "vocab_size": 300,
            "n_embd": 32,
            "n_layer": 2,
            "n_head": 4,
            "n_positions": 512,
        }
        return transformers.GPT2LMHeadModel, transformers.GPT2Config(
            initializer_range=0.2, **small
        )
    if name == "bloom, positions in the scores":
        return transformers.BloomForCausalLM, transformers.BloomConfig(
            vocab_size=300, hidden_size=32, n_layer=2, n_head=4, initializer_range=0.2
        )
    return transformers.MambaForCausalLM, transformers.MambaConfig(
        vocab_size=300, hidden_size=32, num_hidden_layers=2, state_size=4
    )


SHARED = [
    "mistral, a window of 24",
    "gemma2, scores capped",
    "qwen3",
    "gpt2, learned positions",
]
PLAIN = ["bloom, positions in the scores", "mamba, a recurrent state"]


@pytest.mark.parametrize("name", SHARED + PLAIN)
def test_architectures_give_the_numbers_of_the_plain_model(name, make, tmp_path):
    import torch

    kind, config = configuration(name)
    plain = make.model(kind, config)
    model = LocalTransformers(make.folder(tmp_path, plain, make.tokenizer()))
    contexts = [f"{HEADER}{'q' * n} {n}?" for n in range(4)]
    weighed = [
        Request(Prompt((Message.of("", c),), continuations=(" yes", " no")))
        for c in contexts
    ]
    asked = [
        Request(Prompt((Message.of("", c),)), GenerateOptions(max_tokens=6))
        for c in contexts
    ]

    likelihoods = model.likelihood(weighed)
    answers = model.generate(asked)

    assert (model._loaded.plain_because is None) == (name in SHARED), (
        model._loaded.plain_because
    )
    tokenizer = model._loaded.renderer.tokenizer
    for context, found, answer in zip(contexts, likelihoods, answers, strict=True):
        for text, likelihood in zip((" yes", " no"), found.likelihoods, strict=True):
            ids = tokenizer.encode(context + text)
            with torch.inference_mode():
                logprobs = torch.log_softmax(
                    plain(torch.tensor([ids])).logits[0].float(), -1
                )
            wanted = sum(
                logprobs[at - 1, ids[at]].item() for at in range(len(context), len(ids))
            )
            assert likelihood.logprob == pytest.approx(wanted, abs=2e-4)
        ids = tokenizer.encode(context)
        for token in answer.candidates[0].token_ids:
            with torch.inference_mode():
                assert plain(torch.tensor([ids])).logits[0, -1].argmax().item() == token
            ids.append(token)


def test_models_with_positions_by_longest_sequence_never_share(make):
    from transformers import LlamaForCausalLM

    from assay.models.local_transformers.engine import Engine, why_not

    rope = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    model = make.model(LlamaForCausalLM, make.config(rope_parameters=rope))

    assert why_not(Engine(model)) == "its positions depend on the longest neighbour"
