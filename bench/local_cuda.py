"""The `hf` engine on a GPU, with nothing to download: a Llama of SmolLM2's shape with seeded random weights.

    PYTHONPATH=src python bench/local_cuda.py [--questions 256] [--answers 128] [--device cuda]

Prints whether CUDA and CPU agree in full precision, and the time of shared-prefix options, of options with nothing in
common, and of generation, beside a plain batcher of whole requests written here. Times are the best of three. Where
accelerate is installed, a model split over the GPU and the CPU is held against one on the CPU alone.
`--device cpu` runs all of it with a two-layer model and a few requests, to see that it runs.
"""

import argparse
import importlib.util
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from assay.core import GenerateOptions
from assay.models.local_transformers.engine import Engine, why_not
from assay.models.local_transformers.generate import Row, Writer
from assay.models.local_transformers.likelihood import Pair, weigh

VOCABULARY = 49152
BATCHES = (64, 256)
"""Rows of a plain batch; the faster one counts."""


def make_model(layers: int, seed: int = 0) -> Any:
    """SmolLM2-135M's shape, random weights."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=layers,
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=8192,
        rope_theta=100000.0,
        tie_word_embeddings=True,
    )
    return LlamaForCausalLM(config).eval()


def make_pairs(
    questions: int, header: int, question: int, options: int, length: int, seed: int = 1
) -> list[Pair]:
    """Questions after a common header, each with options; no header and one option where nothing is to be shared."""
    dice = random.Random(seed)

    def words(count: int) -> tuple[int, ...]:
        return tuple(dice.randrange(VOCABULARY) for _ in range(count))

    common = words(header)
    pairs = []
    for _ in range(questions):
        context = common + words(
            question + dice.randrange(-question // 5, question // 5 + 1)
        )
        pairs += [
            Pair(context + words(length + dice.randrange(-2, 3)), len(context))
            for _ in range(options)
        ]
    return pairs


@torch.inference_mode()
def weigh_by_request(model: Any, pairs: Sequence[Pair], batch: int) -> list[float]:
    """Every request whole, sorted by length, filled up on the right; logits only where a token is predicted."""
    order = sorted(range(len(pairs)), key=lambda i: -len(pairs[i].tokens))
    found = [0.0] * len(pairs)
    for start in range(0, len(order), batch):
        some = [pairs[i] for i in order[start : start + batch]]
        longest = max(len(pair.computed) for pair in some)
        ids = torch.zeros(len(some), longest, dtype=torch.long)
        for row, pair in enumerate(some):
            ids[row, : len(pair.computed)] = torch.tensor(pair.computed)
        hidden = model.model(
            input_ids=ids.to(model.device), use_cache=False
        ).last_hidden_state
        rows = [
            row
            for row, pair in enumerate(some)
            for _ in range(pair.start, len(pair.tokens))
        ]
        places = [at - 1 for pair in some for at in range(pair.start, len(pair.tokens))]
        wanted = torch.tensor(
            [token for pair in some for token in pair.tokens[pair.start :]],
            device=model.device,
        )
        logprobs = torch.log_softmax(model.lm_head(hidden[rows, places]).float(), -1)
        values = logprobs.gather(1, wanted[:, None])[:, 0].tolist()
        for row, value in zip(rows, values, strict=True):
            found[order[start + row]] += value
    return found


def settle() -> None:
    """Waits for what a GPU still has to do."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def best_of(action: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    """The shortest time, and what came out."""
    action()
    shortest = float("inf")
    for _ in range(times):
        settle()
        started = time.perf_counter()
        result = action()
        settle()
        shortest = min(shortest, time.perf_counter() - started)
    return shortest, result


def fresh(engine: Engine) -> Engine:
    """The engine without what it kept: every time pays for its own header."""
    engine.forget()
    return engine


def compare_options(
    name: str, plain: Any, engine: Engine, pairs: Sequence[Pair]
) -> None:
    theirs = min(
        (best_of(lambda b=b: weigh_by_request(plain, pairs, b)) for b in BATCHES),
        key=lambda x: x[0],
    )
    before = engine.count.tokens
    weigh(fresh(engine), pairs)
    tokens = engine.count.tokens - before
    ours = best_of(lambda: weigh(fresh(engine), pairs))
    apart = max(abs(a.logprob - b) for a, b in zip(ours[1], theirs[1], strict=True))
    naive = sum(len(pair.computed) for pair in pairs)
    print(
        f"| {name} | {len(pairs)} | {naive:,} | {tokens:,} | {theirs[0]:.3f} | {ours[0]:.3f} | "
        f"**{theirs[0] / ours[0]:.2f}x** | {apart:.1e} |"
    )


def compare_generation(
    plain: Any, engine: Engine, answers: int, tokens: int = 64
) -> None:
    prompts = [
        pair.tokens[: pair.start] for pair in make_pairs(answers, 610, 45, 1, 4, seed=3)
    ]

    def ours() -> list[list[int]]:
        rows = [
            Row(p, GenerateOptions(), tokens, lambda _: None, random.Random(0))
            for p in prompts
        ]
        Writer(fresh(engine), rows, 256).run()
        return [row.token_ids for row in rows]

    def theirs() -> Any:
        longest = max(map(len, prompts))
        ids = torch.zeros(len(prompts), longest, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, prompt in enumerate(prompts):
            ids[row, longest - len(prompt) :] = torch.tensor(prompt)
            mask[row, longest - len(prompt) :] = 1
        return plain.generate(
            ids.to(plain.device),
            attention_mask=mask.to(plain.device),
            do_sample=False,
            max_new_tokens=tokens,
            min_new_tokens=tokens,
            pad_token_id=0,
        )

    with_drafts = engine.budget
    without = replace(with_drafts, step=0)
    other = best_of(theirs, 2)[0]
    answers_of = {}
    for name, budget in (("token by token", without), ("with drafts", with_drafts)):
        engine.budget = budget
        before = engine.count.passes
        answers_of[name] = ours()
        passes = engine.count.passes - before
        own = best_of(ours, 2)[0]
        print(
            f"generation, {answers} rows of {tokens} tokens, {name}: transformers' generate {other:.2f} s, "
            f"ours {own:.2f} s in {passes} passes, {other / own:.2f}x"
        )
    one, two = answers_of.values()
    print(
        f"with and without drafts {sum(a == b for a, b in zip(one, two, strict=True))} of {answers} answers are alike"
    )


def check_split(layers: int) -> None:
    """A model whose layers lie on two devices, loaded as a user would, against all of it on the CPU."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    from assay.core import Message, Prompt, Request
    from assay.models.local_transformers import LocalTransformers

    with tempfile.TemporaryDirectory() as folder:
        make_model(layers).save_pretrained(folder)
        words = Tokenizer(
            models.WordLevel({f"w{i}": i for i in range(1000)}, unk_token="w0")
        )
        words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(folder)
        places: dict[str, Any] = {
            f"model.layers.{i}": 0 if i < layers // 2 else "cpu" for i in range(layers)
        }
        places |= {
            "model.embed_tokens": 0,
            "model.rotary_emb": 0,
            "model.norm": "cpu",
            "lm_head": 0,
        }
        header = " ".join(f"w{i * 7 % 990}" for i in range(200))
        texts = [f"{header} w{i} w{i + 3} w{i * 11 % 900}" for i in range(8)]
        found = []
        for settings in ({"device": "cpu"}, {"device_map": places}):
            model = LocalTransformers(folder, dtype="float32", **settings)
            asked = [
                Prompt((Message.of("", text),), continuations=(" w5 w6", " w900"))
                for text in texts
            ]
            weighed = model.likelihood([Request(prompt) for prompt in asked])
            options = GenerateOptions(max_tokens=24)
            written = model.generate(
                [Request(Prompt((Message.of("", text),)), options) for text in texts]
            )
            found.append(
                (weighed, [output.candidates[0].token_ids for output in written])
            )
            assert model._loaded.plain_because is None, model._loaded.plain_because
            model.close()
    (weighed, written), (split, split_written) = found
    apart = max(
        abs(a.logprob - b.logprob)
        for one, other in zip(weighed, split, strict=True)
        for a, b in zip(one.likelihoods, other.likelihoods, strict=True)
    )
    same = sum(a == b for a, b in zip(written, split_written, strict=True))
    print(
        f"half on the GPU, half on the CPU: likelihoods at most {apart:.1e} apart, {same} of {len(written)} texts alike"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=256)
    parser.add_argument("--answers", type=int, default=128)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    given = parser.parse_args()
    layers, device = 30, given.device
    if device == "cpu":
        layers, given.questions, given.answers = (
            2,
            min(given.questions, 4),
            min(given.answers, 4),
        )
        torch.set_num_threads(1)
    else:
        torch.backends.cuda.matmul.allow_tf32 = False
        print(torch.cuda.get_device_name(0), "torch", torch.__version__)
    few = make_pairs(6, 120, 30, 4, 6)
    on_cpu, there = make_model(layers), make_model(layers).to(device)
    assert why_not(on_cpu) is None and why_not(there) is None
    slow, fast = weigh(Engine(on_cpu), few), weigh(Engine(there), few)
    apart = max(abs(a.logprob - b.logprob) for a, b in zip(slow, fast, strict=True))
    print(
        f"float32, {device} against CPU: {len(few)} likelihoods at most {apart:.1e} apart"
    )
    print(
        "| task | requests | tokens, whole | tokens, computed | plain s | ours s | ratio | apart |"
    )
    print("|---|---|---|---|---|---|---|---|")
    shared = make_pairs(given.questions, 610, 45, 4, 8)
    alone = make_pairs(given.questions, 0, 640, 1, 8)
    for dtype in (torch.float32, torch.bfloat16):
        plain, model = (make_model(layers).to(dtype).to(device) for _ in range(2))
        reason = why_not(model)
        assert reason is None, reason
        engine = Engine(model)
        kind = str(dtype).removeprefix("torch.")
        compare_options(
            f"four options after a common header, {kind}", plain, engine, shared
        )
        compare_options(f"one option, nothing in common, {kind}", plain, engine, alone)
    compare_generation(plain, engine, given.answers)
    if device == "cuda":
        if importlib.util.find_spec("accelerate"):
            check_split(layers)
        print(f"peak GPU memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB")


if __name__ == "__main__":
    main()
