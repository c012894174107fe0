"""Greedy answers of every architecture equal those of transformers' `generate` in float32.

Models that fit the engine share prefixes and slots; the others use `generate`.
"""

import pytest

from assay.core import GenerateOptions, Message, Prompt, Request
from assay.models.local_transformers import LocalTransformers

pytestmark = pytest.mark.torch
HEADER = "A header that is long enough to be worth keeping for all of the questions. "
CONTEXTS = [*(f"{HEADER}{'q' * n} {n}?" for n in range(4)), f"{HEADER}r 7?"]
"""Four contexts; the last one is as long as the second."""
LLAMA = {
    "vocab_size": 300, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512,
    "initializer_range": 0.2, "bos_token_id": 256, "eos_token_id": None, "pad_token_id": 0,
}  # fmt: skip
ONE_HEAD_EACH = {**LLAMA, "num_key_value_heads": 4}
GPT = {
    "vocab_size": 300,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 512,
    "initializer_range": 0.2,
    "eos_token_id": None,
    "pad_token_id": 0,
}
STATE = {
    "vocab_size": 300,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "eos_token_id": None,
    "pad_token_id": 0,
    "initializer_range": 0.2,
}
ENGINE = {
    "Llama": LLAMA,
    "Qwen2": LLAMA,
    "Qwen3": {**LLAMA, "head_dim": 8},
    "GPT2": GPT,
    "GPTNeoX": {**ONE_HEAD_EACH, "rotary_pct": 0.25},
    "OPT": {**LLAMA, "ffn_dim": 48, "word_embed_proj_dim": 32},
    "Mistral": {**LLAMA, "head_dim": 8, "sliding_window": 24},
    "Gemma": {**LLAMA, "head_dim": 8},
    "Phi": ONE_HEAD_EACH,
    "Phimoe": {**LLAMA, "num_local_experts": 4, "sliding_window": 24},
    "DeepseekV3": {
        **ONE_HEAD_EACH, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 8, "v_head_dim": 8, "n_routed_experts": 4, "n_group": 1,
        "topk_group": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 24,
        "n_shared_experts": 1, "first_k_dense_replace": 1,
    },
}  # fmt: skip
GENERATE = {
    "Mamba": {**STATE, "state_size": 4},
    "Rwkv": {**STATE, "attention_hidden_size": 32, "context_length": 512},
    "RecurrentGemma": {
        **LLAMA, "head_dim": 8, "lru_width": 32, "attention_window_size": 64,
        "block_types": ["recurrent", "attention"], "conv1d_width": 4,
    },
    "OpenAIGPT": {**GPT, "n_positions": 512},
    "Qwen2Moe": {
        **LLAMA, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24,
        "shared_expert_intermediate_size": 24, "use_sliding_window": True,
        "sliding_window": 24, "max_window_layers": 1,
    },
    "Phi3": {
        **LLAMA, "original_max_position_embeddings": 76, "rope_parameters": {
            "rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0] * 4,
            "long_factor": [2.0] * 4, "original_max_position_embeddings": 76,
        },
    },
    "XLNet": {
        "vocab_size": 300, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48,
        "initializer_range": 0.2, "eos_token_id": None, "pad_token_id": 0,
    },
}  # fmt: skip


def build(name, settings):
    import torch
    import transformers

    config = getattr(transformers, f"{name}Config")(**settings)
    ends = ("ForCausalLM", "LMHeadModel")
    kinds = [getattr(transformers, f"{name}{end}", None) for end in ends]
    kind = next(kind for kind in kinds if kind is not None)
    torch.manual_seed(0)
    return kind(config).eval()


def ask(text, tokens=8, **options):
    return Request(
        Prompt((Message.of("", text),)), GenerateOptions(max_tokens=tokens, **options)
    )


def generated(model, tokenizer, text, tokens=8):
    import torch

    ids = torch.tensor([tokenizer.encode(text)])
    out = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=tokens,
        do_sample=False,
        pad_token_id=0,
        eos_token_id=None,
    )
    return out[0, ids.shape[1] :].tolist()


@pytest.mark.parametrize("name", [*ENGINE, *GENERATE])
def test_greedy_answers_equal_generate(name, make, tmp_path):
    plain = build(name, (ENGINE | GENERATE)[name])
    tokenizer = make.tokenizer()
    folder = make.folder(tmp_path, plain, tokenizer)
    model = LocalTransformers(folder, batch_size=3)

    outputs = model.generate([ask(text) for text in CONTEXTS])

    expected = [generated(plain, tokenizer, text) for text in CONTEXTS]
    end = tokenizer.eos_token_id
    for output, tokens in zip(outputs, expected, strict=True):
        own = list(output.candidates[0].token_ids)
        cut = tokens[: tokens.index(end) + 1] if end in tokens else tokens
        assert own == cut
    reason = model._loaded.plain_because
    assert (reason is None) == (name in ENGINE), reason


@pytest.mark.parametrize(
    "name", [name for name in [*ENGINE, *GENERATE] if name != "XLNet"]
)
def test_likelihoods_equal_a_plain_pass(name, make, tmp_path):
    import torch

    plain = build(name, (ENGINE | GENERATE)[name])
    tokenizer = make.tokenizer()
    model = LocalTransformers(make.folder(tmp_path, plain, tokenizer))
    options = (" yes", " no")
    requests = [
        Request(Prompt((Message.of("", text),), continuations=options))
        for text in CONTEXTS
    ]

    outputs = model.likelihood(requests)

    for text, output in zip(CONTEXTS, outputs, strict=True):
        for option, found in zip(options, output.likelihoods, strict=True):
            ids = tokenizer.encode(text + option)
            with torch.inference_mode():
                logits = plain(torch.tensor([ids]), use_cache=False).logits[0]
            logprobs = torch.log_softmax(logits.float(), -1)
            expected = sum(
                logprobs[at - 1, ids[at]].item() for at in range(len(text), len(ids))
            )
            assert found.logprob == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", ["GPT2", "Mamba"])
@pytest.mark.parametrize(
    ("settings", "in_engine"),
    [
        ({"repetition_penalty": 1.5}, True),
        ({"no_repeat_ngram_size": 2}, False),
        ({"suppress_tokens": list(range(100, 200))}, False),
        ({"min_new_tokens": 6, "eos_token_id": list(range(128))}, False),
        ({"num_beams": 3}, True),
    ],
)
def test_generation_settings_of_the_model_are_applied(
    name, settings, in_engine, make, tmp_path
):
    plain = build(name, (ENGINE | GENERATE)[name])
    for option, value in settings.items():
        setattr(plain.generation_config, option, value)
    tokenizer = make.tokenizer()
    model = LocalTransformers(make.folder(tmp_path, plain, tokenizer), batch_size=3)

    outputs = model.generate([ask(text) for text in CONTEXTS])

    plain.generation_config.num_beams = 1
    for text, output in zip(CONTEXTS, outputs, strict=True):
        tokens = tokenizer.encode(text)
        written = list(output.candidates[0].token_ids)
        assert written == generate_plainly(plain, tokens)[: len(written)]
    is_in_engine = model._loaded.plain_because is None
    assert is_in_engine == (in_engine and name == "GPT2")
    notes = " ".join(model.run_notes())
    [option, *_] = settings
    assert option in notes


def generate_plainly(model, tokens):
    """Return the answers of transformers with the model's own settings."""
    import torch

    ids = torch.tensor([tokens])
    mask = torch.ones_like(ids)
    out = model.generate(ids, attention_mask=mask, max_new_tokens=8, do_sample=False)
    return out[0, len(tokens) :].tolist()


def test_repetition_penalty_of_the_request_replaces_that_of_the_model(make, tmp_path):
    plain = build("GPT2", GPT)
    folder = make.folder(tmp_path / "plain", plain, make.tokenizer())
    plain.generation_config.repetition_penalty = 1.5
    penalised = make.folder(tmp_path / "penalised", plain, make.tokenizer())
    request = ask(CONTEXTS[0], repetition_penalty=1.0)

    expected = LocalTransformers(folder).generate([request])
    outputs = LocalTransformers(penalised).generate([request])

    assert outputs[0].text == expected[0].text


@pytest.mark.parametrize("name", ["Llama", "Rwkv", "Phi3"])
def test_sampled_answers_do_not_depend_on_the_batch(name, make, tmp_path):
    plain = build(name, (ENGINE | GENERATE)[name])
    model = LocalTransformers(make.folder(tmp_path, plain, make.tokenizer()))
    requests = [ask(text, temperature=1.0, n=2, seed=3) for text in CONTEXTS]

    together = model.generate(requests)

    alone = [model.generate([request])[0] for request in requests]
    for one, other in zip(together, alone, strict=True):
        texts = [candidate.text for candidate in one.candidates]
        assert texts == [candidate.text for candidate in other.candidates]
        assert texts[0] != texts[1]


def test_a_model_that_is_not_causal_has_no_likelihoods(make, tmp_path):
    from assay.core import ModelError

    plain = build("XLNet", GENERATE["XLNet"])
    model = LocalTransformers(make.folder(tmp_path, plain, make.tokenizer()))
    request = Request(Prompt((Message.of("", "a text"),), continuations=(" yes",)))

    with pytest.raises(ModelError, match="depend on later tokens"):
        model.likelihood([request])


@pytest.fixture
def t5(make, tmp_path):
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    config = T5Config(
        vocab_size=300,
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=257,
    )
    plain = T5ForConditionalGeneration(config).eval()
    for weight in plain.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    tokenizer = make.tokenizer()
    return plain, tokenizer, make.folder(tmp_path, plain, tokenizer)


def test_encoder_decoder_model_answers_with_its_own_generate(t5):
    import torch

    plain, tokenizer, folder = t5
    model = LocalTransformers(folder)

    outputs = model.generate([ask(text, 6) for text in ("translate this", "and that")])

    assert model._loaded.plain_because == "it has an encoder and a decoder"
    for text, output in zip(("translate this", "and that"), outputs, strict=True):
        ids = torch.tensor([tokenizer.encode(text)])
        out = plain.generate(ids, max_new_tokens=6, do_sample=False)[0, 1:].tolist()
        assert list(output.candidates[0].token_ids) == out


def test_encoder_decoder_likelihoods_equal_those_of_the_model(t5):
    import torch

    plain, tokenizer, folder = t5
    prompt = Prompt((Message.of("", "translate this"),), continuations=("yes", "no"))

    [output] = LocalTransformers(folder).likelihood([Request(prompt)])

    ids = torch.tensor([tokenizer.encode("translate this")])
    for text, found in zip(("yes", "no"), output.likelihoods, strict=True):
        labels = torch.tensor([tokenizer.encode(text, add_special_tokens=False)])
        with torch.inference_mode():
            logits = plain(input_ids=ids, labels=labels).logits[0]
        logprobs = torch.log_softmax(logits, -1)
        expected = sum(logprobs[at, token].item() for at, token in enumerate(labels[0]))
        assert found.logprob == pytest.approx(expected, abs=1e-4)
        assert found.tokens == labels.shape[1]


@pytest.mark.parametrize("name", ["RecurrentGemma", "Rwkv", "Mamba"])
def test_a_prompt_of_one_token_does_not_continue_the_prompt_before(
    name, make, tmp_path
):
    import torch

    plain = build(name, GENERATE[name])
    with torch.no_grad():
        for weights in plain.parameters():
            weights.normal_(0, 0.25)
    tokenizer = make.tokenizer()
    folder = make.folder(tmp_path, plain, tokenizer)
    first = generated(plain, tokenizer, "a")
    model = LocalTransformers(folder, batch_size=3)

    outputs = model.generate([ask(CONTEXTS[0]), ask("a"), ask(CONTEXTS[1])])
    [again] = model.generate([ask("a")])

    for output in (outputs[1], again):
        assert list(output.candidates[0].token_ids) == first
