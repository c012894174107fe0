"""The `hf` engine on one GPU against transformers' own `generate`; nothing to download.

    PYTHONPATH=src python bench/local_cuda.py [--parts endtoend,engine,memory,equal] [--rows 1024]

Models are Llama shapes of 1B and 8B with seeded random weights and a word-level
tokenizer. Random weights never end an answer, so every row writes all its tokens.

- endtoend: whole processes on 1,024 rows, `assay run` and `generate` in turns
- engine: one decode step against reading weights and cache once; 8B tokens per second;
  likelihoods against a plain batch
- memory: peak memory with slots chosen automatically; a forced limit halves them
- equal: 512 greedy answers in float32, token by token

`--device cpu` runs all of it with tiny models, to see that it runs.
"""

import argparse
import gc
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

VOCABULARY = 49152
SHAPES = {
    "1B": (2048, 8192, 16, 32, 8),
    "8B": (4096, 14336, 32, 32, 8),
    "tiny": (64, 96, 2, 4, 2),
}
"""Hidden size, inner size, layers, heads, key heads."""
TOKENS = 64
Sizes = argparse.Namespace


def make_model(shape: str, device: str, dtype: str) -> Any:
    """Return a Llama of a shape with random weights, made on the device."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    hidden, inner, layers, heads, key_heads = SHAPES[shape]
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=hidden,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        max_position_embeddings=8192,
        eos_token_id=None,
        bos_token_id=None,
        pad_token_id=0,
    )
    torch.manual_seed(0)
    usual = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        with torch.device(device):
            return LlamaForCausalLM(config).eval()
    finally:
        torch.set_default_dtype(usual)


def make_folder(folder: Path, given: Sizes) -> None:
    """Write a model, its tokenizer and three tasks, as a user has them."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    make_model(given.small, given.device, given.dtype).save_pretrained(folder)
    vocabulary = {f"w{number}": number for number in range(VOCABULARY)}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="w0")
    fast.save_pretrained(folder)
    dice = random.Random(0)

    def text(count: int) -> str:
        return " ".join(f"w{dice.randrange(VOCABULARY)}" for _ in range(count))

    header = text(given.header)
    rows: dict[str, list[dict[str, Any]]] = {"shared": [], "alone": [], "options": []}
    for index in range(given.rows):
        rows["shared"].append({"question": f"{header} {text(60)}", "answer": text(1)})
        rows["alone"].append({"question": text(300), "answer": text(1)})
        options = [text(6) for _ in range(4)]
        answer = "ABCD"[index % 4]
        rows["options"].append(
            {"question": text(80), "options": options, "answer": answer}
        )
    for name, lines in rows.items():
        text_of = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text_of, encoding="utf-8")


# Children: whole processes, each printing one JSON line


def run_generate(folder: Path, task: str, batch: int, given: Sizes) -> None:
    """Generate as users do without assay: sorted by length, padded, in batches."""
    started = time.perf_counter()
    import torch
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

    dtype = getattr(torch, given.dtype)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    model = model.to(given.device).eval()
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder, padding_side="left")
    lines = (folder / f"{task}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    loaded = time.perf_counter()
    with torch.inference_mode():
        if task == "options":
            weigh_texts(model, tokenizer, rows, batch)
        else:
            write_texts(model, tokenizer, rows, batch)
    settle()
    done = time.perf_counter()
    print(json.dumps({"load_s": loaded - started, "work_s": done - loaded}))


def write_texts(model: Any, tokenizer: Any, rows: Sequence[Any], batch: int) -> None:
    questions = sorted((row["question"] for row in rows), key=len, reverse=True)
    for start in range(0, len(questions), batch):
        some = questions[start : start + batch]
        encoded = tokenizer(some, return_tensors="pt", padding=True).to(model.device)
        encoded.pop("token_type_ids", None)
        model.generate(
            **encoded,
            max_new_tokens=TOKENS,
            min_new_tokens=TOKENS,
            do_sample=False,
            pad_token_id=0,
        )


def weigh_texts(model: Any, tokenizer: Any, rows: Sequence[Any], batch: int) -> None:
    pairs = []
    for row in rows:
        context = tokenizer(row["question"]).input_ids
        for option in row["options"]:
            more = tokenizer(f" {option}").input_ids
            pairs.append(((*context, *more), len(context)))
    weigh_batches(model, pairs, batch)


def run_assay(folder: Path, task: str, batch: int, given: Sizes) -> None:
    """`assay run`, with the moment noted at which the model is loaded."""
    started = time.perf_counter()
    from assay.cli.main import main as assay_main
    from assay.models.local_transformers import LocalTransformers

    moments = {}
    usual = LocalTransformers.load

    def load(self: Any) -> None:
        moments["asked"] = time.perf_counter()
        usual(self)
        moments["loaded"] = time.perf_counter()

    LocalTransformers.load = load  # type: ignore[method-assign]
    options = f"dtype={given.dtype},device={given.device}"
    if batch:
        options += f",batch_size={batch}"
    how = ["--max_tokens", str(TOKENS)]
    if task == "options":
        how = ["--measure", "text_likelihood"]
    output = tempfile.mkdtemp(dir=folder)
    command = ["run", str(folder / f"{task}.jsonl"), "--model", f"hf/{folder}"]
    command += ["--model_args", options, "-o", f"{output}/run", *how]
    try:
        status = assay_main(command)
    except SystemExit as ended:
        status = ended.code
    done = time.perf_counter()
    seconds = {
        "before_load_s": moments["asked"] - started,
        "load_s": moments["loaded"] - started,
        "work_s": done - moments["loaded"],
        "status": status,
    }
    print("\n" + json.dumps(seconds))


def child(by: str, folder: Path, task: str, batch: int, given: Sizes) -> dict[str, Any]:
    """Run one side in a process of its own; return its seconds and the wall time."""
    command = [sys.executable, __file__, "--device", given.device, "--child", by]
    command += ["--folder", str(folder), "--task", task, "--batch", str(batch)]
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users have compiled modules
    started = time.perf_counter()
    ended = subprocess.run(command, capture_output=True, text=True, env=environment)
    wall = time.perf_counter() - started
    try:
        seconds = json.loads(ended.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise SystemExit(
            f"{by}: {ended.stdout[-2000:]}{ended.stderr[-3000:]}"
        ) from None
    return {"by": by, "task": task, "batch": batch, "wall_s": wall, **seconds}


def compare_processes(given: Sizes) -> None:
    """Both sides in turns, each task twice, after one process of each that is not compared.

    The first process of a side compiles its modules and kernels, and reads them from the disk.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_folder(folder, given)
        clean()
        sides = [("generate", 256), ("assay", 0)]
        for by, batch in sides:
            say(is_warm_up=True, **child(by, folder, "shared", batch, given))
        for task in given.tasks.split(","):
            for turn in range(given.turns):
                for by, batch in sides if turn % 2 == 0 else sides[::-1]:
                    say(**child(by, folder, task, batch, given))


# In this process


def make_pairs(
    questions: int, header: int, question: int, options: int, length: int
) -> list[tuple[tuple[int, ...], int]]:
    """Return options after questions after a common header, as tokens and starts."""
    dice = random.Random(1)

    def words(count: int) -> tuple[int, ...]:
        return tuple(dice.randrange(VOCABULARY) for _ in range(count))

    common = words(header)
    pairs = []
    for _ in range(questions):
        context = common + words(question + dice.randrange(question // 5 + 1))
        for _ in range(options):
            pairs.append((context + words(length), len(context)))
    return pairs


def weigh_batches(
    model: Any, pairs: Sequence[tuple[Sequence[int], int]], batch: int
) -> list[float]:
    """Every request whole, sorted by length, padded: as lm-eval's hf backend does."""
    import torch

    order = sorted(range(len(pairs)), key=lambda index: -len(pairs[index][0]))
    found = [0.0] * len(pairs)
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        longest = max(len(pairs[index][0]) for index in chosen)
        ids = torch.zeros(len(chosen), longest, dtype=torch.long)
        for line, index in enumerate(chosen):
            tokens = pairs[index][0]
            ids[line, : len(tokens)] = torch.tensor(tokens)
        with torch.inference_mode():
            logits = model(ids.to(model.device)).logits
        for line, index in enumerate(chosen):
            tokens, first = pairs[index]
            lines = logits[line, first - 1 : len(tokens) - 1].float().log_softmax(-1)
            wanted = torch.tensor(tokens[first:], device=model.device)
            found[index] = lines.gather(-1, wanted[:, None]).sum().item()
    return found


def make_rows(prompts: Sequence[tuple[int, ...]], tokens: int) -> list[Any]:
    from assay.core import GenerateOptions
    from assay.models.local_transformers.generation_rows import NeverStop, Row

    options = GenerateOptions()
    return [
        Row(prompt, options, tokens, NeverStop(), random.Random) for prompt in prompts
    ]


def engine_of(model: Any) -> Any:
    from assay.models.local_transformers.engine import (
        Engine,
        why_not,
        why_not_writing,
    )
    from assay.models.local_transformers.few_rows import hasten

    engine = Engine(model)
    reason = why_not(engine) or why_not_writing(engine)
    assert reason is None, reason
    hasten(model)
    return engine


def write_rows(engine: Any, prompts: Sequence[tuple[int, ...]], tokens: int) -> Any:
    """Write answers; every time pays for its own header."""
    engine.forget()
    rows = make_rows(prompts, tokens)
    engine.generator.submit(rows)
    engine.generator.finish(rows)
    return [row.token_ids for row in rows]


def generate_rows(
    model: Any, prompts: Sequence[tuple[int, ...]], tokens: int, batch: int
) -> list[list[int]]:
    import torch

    answers = []
    for start in range(0, len(prompts), batch):
        some = prompts[start : start + batch]
        longest = max(map(len, some))
        ids = torch.zeros(len(some), longest, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for line, prompt in enumerate(some):
            ids[line, longest - len(prompt) :] = torch.tensor(prompt)
            mask[line, longest - len(prompt) :] = 1
        out = model.generate(
            ids.to(model.device),
            attention_mask=mask.to(model.device),
            do_sample=False,
            max_new_tokens=tokens,
            min_new_tokens=tokens,
            pad_token_id=0,
        )
        answers += out[:, longest:].tolist()
    return answers


def settle() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def clean() -> None:
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def best_of(action: Callable[[], Any], times: int = 2) -> tuple[float, Any]:
    """Return the shortest time after a first try, and what came out."""
    action()
    shortest = float("inf")
    for _ in range(times):
        settle()
        started = time.perf_counter()
        result = action()
        settle()
        shortest = min(shortest, time.perf_counter() - started)
    return shortest, result


def time_decode(shape: str, model: Any, engine: Any, slots: int) -> None:
    """One decode step, against reading weights and cache once by a plain copy's speed."""
    import torch

    length = 460
    rows = make_rows([pair[0] for pair in make_pairs(slots, 0, length, 1, 1)], 256)
    engine.generator.submit(rows)
    generator = engine.generator
    with torch.inference_mode():
        generator._admit()
        for _ in range(3):
            generator._decode()
        settle()
        before = len(rows[0].token_ids)
        started = time.perf_counter()
        for _ in range(6):
            generator._decode()
        settle()
        steps = len(rows[0].token_ids) - before
        seconds = (time.perf_counter() - started) / steps
        active = [(at, row) for at, row in enumerate(generator.rows) if row]
        step = generator._step(generator._width(len(active)))
        step.load(active, 0)
        pure, _ = best_of(lambda: [step._graph.replay() for _ in range(20)], 3)
    table = model.get_input_embeddings().weight
    weights = sum(w.numel() * w.element_size() for w in model.parameters())
    weights -= table.numel() * table.element_size()
    tokens = sum(len(row.prompt) + len(row.token_ids) for row in rows)
    config = model.config
    per_token = 2 * config.num_hidden_layers * config.num_key_value_heads
    per_token *= config.head_dim * table.element_size()
    speed = copy_speed()
    needed = (weights + tokens * per_token) / speed
    for row in rows:
        row.stop_reason = "stop"
    generator._retire()
    say(
        task=f"{shape} decode step, {slots} slots",
        step_ms=1e3 * seconds,
        graph_ms=1e3 * pure / 20,
        read_once_ms=1e3 * needed,
        ratio=seconds / needed,
        copy_tb_s=speed / 1e12,
        eager_because=engine.eager_because,
    )


def copy_speed() -> float:
    """Bytes read a second, by a copy that reads and writes."""
    import torch

    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    seconds, _ = best_of(lambda: target.copy_(source), 5)
    return 2 * source.numel() / seconds


def compare_writing(shape: str, model: Any, engine: Any, given: Sizes) -> None:
    for name, header, question in (("shared header", 610, 45), ("alone", 0, 300)):
        pairs = make_pairs(given.answers, header, question, 1, 1)
        prompts = [pair[0] for pair in pairs]
        total = len(prompts) * TOKENS
        ours, _ = best_of(lambda p=prompts: write_rows(engine, p, TOKENS), 1)
        engine.forget()
        clean()
        theirs, _ = best_of(lambda p=prompts: generate_rows(model, p, TOKENS, 256), 1)
        say(
            task=f"{shape} generation, {name}, {len(prompts)} rows",
            generate_tokens_s=total / theirs,
            assay_tokens_s=total / ours,
            ratio=theirs / ours,
        )


def compare_weighing(shape: str, model: Any, engine: Any, given: Sizes) -> None:
    from assay.models.local_transformers.shared_likelihoods import weigh
    from assay.models.prompting.pairs import Pair

    kinds = (("shared header", 610, 45, 4, 8), ("alone", 0, 640, 1, 8))
    for name, header, question, options, length in kinds:
        pairs = make_pairs(given.questions, header, question, options, length)
        mine = [Pair(tokens, start) for tokens, start in pairs]

        def ours(mine: Any = mine) -> Any:
            engine.forget()
            return weigh(engine, mine)

        seconds, found = best_of(ours)
        theirs = []
        for batch in (32, 64, 128):
            theirs.append(
                best_of(lambda b=batch, p=pairs: weigh_batches(model, p, b), 1)
            )
        plain, expected = min(theirs, key=lambda entry: entry[0])
        apart = max(
            abs(one.logprob - two) for one, two in zip(found, expected, strict=True)
        )
        say(
            task=f"{shape} likelihood, {name}, {len(pairs)} requests",
            plain_s=plain,
            assay_s=seconds,
            ratio=plain / seconds,
            apart=apart,
        )


def compare_engines(given: Sizes) -> None:
    import torch

    for shape in given.shapes.split(","):
        model = make_model(shape, given.device, given.dtype)
        engine = engine_of(model)
        if torch.cuda.is_available():
            for slots in (256, 32):
                time_decode(shape, model, engine, slots)
        compare_writing(shape, model, engine, given)
        compare_weighing(shape, model, engine, given)
        del model, engine
        clean()


def check_memory(given: Sizes) -> None:
    """Slots chosen automatically, and with a limit that is too small for them."""
    import torch

    for shape in given.shapes.split(","):
        model = make_model(shape, given.device, given.dtype)
        clean()
        torch.cuda.reset_peak_memory_stats()
        engine = engine_of(model)
        prompts = [pair[0] for pair in make_pairs(600, 0, 1000, 1, 1)]
        write_rows(engine, prompts, 16)
        say(
            task=f"{shape} memory, automatic slots, 600 rows of 1,000 tokens",
            slots=engine.generator.cache.count,
            peak_gib=torch.cuda.max_memory_allocated() / 2**30,
            device_gib=torch.cuda.mem_get_info()[1] / 2**30,
        )
        engine.forget()
        clean()
        used = torch.cuda.memory_allocated()
        limit = used + (4 << 30)
        total = torch.cuda.mem_get_info()[1]
        torch.cuda.set_per_process_memory_fraction(limit / total)
        answers = write_rows(engine, prompts[:300], 16)
        say(
            task=f"{shape} memory, 4 GiB beside the weights",
            finished=sum(len(answer) == 16 for answer in answers),
            rows=300,
            slots=engine.generator.cache.count,
        )
        torch.cuda.set_per_process_memory_fraction(1.0)
        del model, engine
        clean()


def check_equal(given: Sizes) -> None:
    """Greedy answers in float32 against `generate`."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    model = make_model(given.small, given.device, "float32")
    count = min(512, given.rows)
    pairs = make_pairs(count, 64, 40, 1, 1)
    prompts = [pair[0] for pair in pairs]
    theirs = generate_rows(model, prompts, 32, 64)
    engine = engine_of(model)
    ours = write_rows(engine, prompts, 32)
    same = sum(one == two for one, two in zip(ours, theirs, strict=True))
    say(task="float32 greedy answers", rows=count, equal=same)


def say(**values: Any) -> None:
    rounded = {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in values.items()
    }
    print(json.dumps(rounded), flush=True)


def parts(given: Sizes) -> Iterator[Callable[[Sizes], None]]:
    known = {
        "endtoend": compare_processes,
        "engine": compare_engines,
        "memory": check_memory,
        "equal": check_equal,
    }
    for name in given.parts.split(","):
        yield known[name]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default="endtoend,engine,memory,equal")
    parser.add_argument("--tasks", default="shared,alone,options")
    parser.add_argument("--shapes", default="1B,8B")
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--answers", type=int, default=256)
    parser.add_argument("--questions", type=int, default=128)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--child", choices=("generate", "assay"))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--task")
    parser.add_argument("--batch", type=int, default=0)
    given = parser.parse_args()
    given.small, given.dtype, given.header = "1B", "bfloat16", 400
    if given.device == "cpu":
        given.small, given.dtype, given.header = "tiny", "float32", 40
        given.shapes, given.rows, given.answers, given.questions = "tiny", 8, 4, 2
    if given.child is not None:
        run = run_generate if given.child == "generate" else run_assay
        run(given.folder, given.task, given.batch, given)
        return
    if given.device == "cuda":
        import torch

        say(gpu=torch.cuda.get_device_name(0), torch=torch.__version__)
    for part in parts(given):
        started = time.perf_counter()
        part(given)
        say(part=part.__name__, took_s=time.perf_counter() - started)


if __name__ == "__main__":
    main()
