"""The `hf` backend against lm-eval's own, on the same requests: CPU seconds, values, texts, peak memory.

    python bench/local_hf.py --model MODEL --tasks FOLDER [--questions 24] [--letters 40] [--answers 24] [--rounds 2]

MODEL is a model folder or a GGUF file; FOLDER holds `shots.jsonl`, `test.jsonl` and `gen.jsonl`, each row with passage,
question, choices, gold and answer. Each side runs in a process of its own, one thread, full precision; they take turns
task by task, and of several rounds the least CPU of each side counts, from handing over the requests to having all
answers. Nothing is kept from one task to the next. Without lm-eval only our side is printed.
"""

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

BATCH = 8
"""lm-eval's batch size, as its users set it on a CPU."""
MAX_TOKENS = 64
MARK = "measured: "
"""Before each line that is an answer: libraries print as they like."""
Case = dict[str, Any]


def rows_in(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def make_cases(
    folder: Path, questions: int, letters: int, answers: int
) -> dict[str, Case]:
    """Return the requests of every task: contexts after five solved examples, and what to score or generate."""
    shots, test, gen = (
        rows_in(folder / f"{name}.jsonl") for name in ("shots", "test", "gen")
    )

    def asked(row: dict[str, Any]) -> str:
        return f"{row['passage']}\nQuestion: {row['question']}\nAnswer:"

    def lettered(row: dict[str, Any]) -> str:
        options = "\n".join(
            f"{letter}. {text}"
            for letter, text in zip("ABCD", row["choices"], strict=True)
        )
        return f"{row['passage']}\nQuestion: {row['question']}\n{options}\nAnswer:"

    header = "".join(f"{asked(row)} {row['answer']}\n\n" for row in shots)
    header_letters = "".join(
        f"{lettered(row)} {'ABCD'[row['gold']]}\n\n" for row in shots
    )
    text_options = [
        (header + asked(row), [f" {text}" for text in row["choices"]])
        for row in test[:questions]
    ]
    letter_options = [
        (header_letters + lettered(row), [f" {x}" for x in "ABCD"])
        for row in test[:letters]
    ]
    prompts = [header + asked(row) for row in gen[:answers]]
    long = [" ".join(asked(row) for row in test[at : at + 8]) for at in range(0, 32, 8)]
    alone = [
        (f"{i}. " + asked(row) * 4, [f" {row['choices'][0]}"])
        for i, row in enumerate(test[:16])
    ]
    return {
        "text options": {"kind": "weigh", "items": text_options},
        "letters": {"kind": "weigh", "items": letter_options},
        "generation, 64 tokens": {"kind": "write", "items": prompts, "stop": []},
        "generation, to the newline": {
            "kind": "write",
            "items": prompts,
            "stop": ["\n"],
        },
        "rolling perplexity": {"kind": "roll", "items": long},
        "options, nothing shared": {"kind": "weigh", "items": alone},
        "generation, nothing shared": {
            "kind": "write",
            "items": [text for text, _ in alone[:8]],
            "stop": ["\n"],
        },
    }


class Ours:
    """assay's backend."""

    def __init__(self, model: str) -> None:
        from assay.models.local_transformers import LocalTransformers

        self.model = LocalTransformers(model, device="cpu", dtype="float32")
        self.model.load()

    @property
    def tokens(self) -> int:
        return self.model.counted.tokens

    def answer(self, case: Case) -> list[Any]:
        self.model._ready().engine.forget()
        from assay.core import GenerateOptions, Message, Prompt, Request

        def completion(text: str, **more: Any) -> Prompt:
            return Prompt((Message.of("", text),), **more)

        items = case["items"]
        if case["kind"] == "weigh":
            requests = [
                Request(completion(text, continuations=tuple(options)))
                for text, options in items
            ]
            return [
                [found.logprob, found.greedy]
                for o in self.model.likelihood(requests)
                for found in o.likelihoods
            ]
        if case["kind"] == "roll":
            outputs = self.model.likelihood(
                [Request(completion(text, rolling=True)) for text in items]
            )
            return [[output.likelihoods[0].logprob, True] for output in outputs]
        options = GenerateOptions(max_tokens=MAX_TOKENS, stop=tuple(case["stop"]))
        return [
            output.text
            for output in self.model.generate(
                [Request(completion(text), options) for text in items]
            )
        ]


class LmEval:
    """lm-eval's hf backend."""

    def __init__(self, model: str) -> None:
        from lm_eval.models.huggingface import HFLM

        self.model = HFLM(
            pretrained=model, device="cpu", dtype="float32", batch_size=BATCH
        )
        self.tokens = 0
        self.model.model.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, _: Any, args: Any, kwargs: Any) -> None:
        ids = kwargs.get("input_ids", args[0] if args else None)
        self.tokens += ids.numel()

    def answer(self, case: Case) -> list[Any]:
        from lm_eval.api.instance import Instance

        def asked(kind: str, arguments: tuple[Any, ...], at: int) -> Any:
            return Instance(request_type=kind, doc={}, arguments=arguments, idx=at)

        items = case["items"]
        if case["kind"] == "weigh":
            pairs = [(text, option) for text, options in items for option in options]
            found = self.model.loglikelihood(
                [asked("loglikelihood", pair, i) for i, pair in enumerate(pairs)]
            )
            return [[float(value), bool(greedy)] for value, greedy in found]
        if case["kind"] == "roll":
            requests = [
                asked("loglikelihood_rolling", (text,), i)
                for i, text in enumerate(items)
            ]
            return [
                [float(value), True]
                for value in self.model.loglikelihood_rolling(requests)
            ]
        settings = {
            "until": case["stop"] or ["<never>"],
            "max_gen_toks": MAX_TOKENS,
            "do_sample": False,
        }
        requests = [
            asked("generate_until", (text, settings), i) for i, text in enumerate(items)
        ]
        return list(self.model.generate_until(requests))


def run_side(side: str, model: str, cases: dict[str, Case]) -> None:
    """Answers the cases named on the input one by one; what each took goes out as JSON, a line for each."""
    import torch

    torch.set_num_threads(1)
    asked: Ours | LmEval = Ours(model) if side == "ours" else LmEval(model)
    for line in sys.stdin:
        tokens, cpu, wall = asked.tokens, time.process_time(), time.perf_counter()
        answers = asked.answer(cases[line.strip()])
        measured = {
            "cpu": time.process_time() - cpu,
            "wall": time.perf_counter() - wall,
            "tokens": asked.tokens - tokens,
            "answers": answers,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        print(f"{MARK}{json.dumps(measured)}", flush=True)


class Side:
    """One side in its process."""

    def __init__(self, name: str, model: str, cases: Path) -> None:
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
        }
        command = [
            sys.executable,
            __file__,
            "--side",
            name,
            "--model",
            model,
            "--cases",
            str(cases),
        ]
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.best: dict[str, Case] = {}
        """Of each case the round that took the least CPU."""

    def answer(self, case: str) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        print(case, file=self.process.stdin, flush=True)
        line = next(
            (line for line in self.process.stdout if line.startswith(MARK)), None
        )
        if line is None:
            raise SystemExit(f"{case}: the process ended without an answer")
        measured: Case = json.loads(line.removeprefix(MARK))
        known = self.best.setdefault(case, measured)
        if measured["answers"] != known["answers"]:
            raise SystemExit(f"{case}: another answer in another round")
        if measured["cpu"] < known["cpu"]:
            # Counted in the first round, like the peak: later ones find what a process allocates once.
            self.best[case] = {**measured, "peak_mb": known["peak_mb"]}

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def compared(ours: Case, theirs: Case | None) -> str:
    """One line of the table."""
    own = f"{ours['cpu']:.1f} | {ours['tokens']:,} | {ours['peak_mb']:,.0f}"
    if theirs is None:
        return f"{own} | – | – | – | – | –"
    if isinstance(ours["answers"][0], str):
        same = sum(
            a.strip() == b.strip()
            for a, b in zip(ours["answers"], theirs["answers"], strict=True)
        )
        agreement = f"{same} of {len(ours['answers'])} texts identical"
    else:
        apart = max(
            abs(a[0] - b[0])
            for a, b in zip(ours["answers"], theirs["answers"], strict=True)
        )
        same = sum(
            a[1] == b[1]
            for a, b in zip(ours["answers"], theirs["answers"], strict=True)
        )
        agreement = f"max difference {apart:.1e}, {same} of {len(ours['answers'])} greedy flags alike"
    ratio = theirs["cpu"] / ours["cpu"]
    other = f"{theirs['cpu']:.1f} | {theirs['tokens']:,} | {theirs['peak_mb']:,.0f}"
    return f"{own} | {other} | **{ratio:.1f}x** | {agreement}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--tasks", type=Path)
    parser.add_argument("--questions", type=int, default=24)
    parser.add_argument("--letters", type=int, default=40)
    parser.add_argument("--answers", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", help="cases whose name contains this")
    parser.add_argument(
        "--keep",
        type=Path,
        help="a folder for what each side answered and took, as JSON",
    )
    parser.add_argument("--side", choices=("ours", "lm_eval"))
    parser.add_argument("--cases", type=Path)
    given = parser.parse_args()
    if given.side is not None:
        run_side(
            given.side, given.model, json.loads(given.cases.read_text(encoding="utf-8"))
        )
        return
    model = given.model
    if model.endswith(".gguf"):
        from assay.models.local_transformers.gguf_files import converted

        model = str(converted(Path(model)))
    cases = make_cases(given.tasks, given.questions, given.letters, given.answers)
    cases = {
        name: case
        for name, case in cases.items()
        if given.only is None or given.only in name
    }
    names = ["ours", "lm_eval"] if importlib.util.find_spec("lm_eval") else ["ours"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cases.json"
        file.write_text(json.dumps(cases), encoding="utf-8")
        sides = {name: Side(name, model, file) for name in names}
        for case in cases:
            for turn in range(given.rounds):
                for name in names if turn % 2 == 0 else names[::-1]:
                    sides[name].answer(case)
        for side in sides.values():
            side.close()
    ours, theirs = (
        sides["ours"].best,
        sides["lm_eval"].best if "lm_eval" in sides else {},
    )
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
        for name, measured in (("ours", ours), ("lm_eval", theirs)):
            (given.keep / f"{name}.json").write_text(
                json.dumps(measured), encoding="utf-8"
            )
    print(
        "| task | CPU s | tokens | peak MB | lm-eval CPU s | tokens | peak MB | ratio | agreement |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name in cases:
        print(f"| {name} | {compared(ours[name], theirs.get(name))} |")


if __name__ == "__main__":
    main()
