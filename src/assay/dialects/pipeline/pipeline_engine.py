"""The engine that evaluators call: it takes prompts and returns tokens, and works with any model.

Every call becomes recorded requests; see `runner.flow.drivers`. Times are those
recorded in the run, so that a replay reports the same speed as the original.
"""

import dis
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from ...core import (
    DEFAULT_OPTIONS,
    GenerateOptions,
    Likelihood,
    Message,
    ModalityMismatch,
    Model,
    Output,
    Prompt,
    Sample,
    Text,
)
from ...store.file_ledger import own_file
from ..shapes import Fields, Record
from .logits import LikelihoodModel, Logits, answer_tokens, as_record, prompt_tokens
from .tokenizers import Tokenizer, tokenizer_of


class Asker(Protocol):
    """The object that sends prompts to the model: the recording engine of a run, or `Direct` outside of a run."""

    calls: int

    @property
    def model(self) -> Model: ...

    def generate(
        self,
        prompts: Sequence[Prompt],
        options: GenerateOptions | None = None,
        ids: Sequence[str] = (),
        targets: Sequence[Any] = (),
    ) -> list[Output]: ...


def as_turn(sample: Sample) -> str | Prompt:
    """Return the input of a sample: a string unchanged, or else a prompt of its messages."""
    if isinstance(sample.input, str):
        return sample.input
    return Prompt(sample.input)


_UNPACK = dis.opmap["UNPACK_SEQUENCE"]


class Generated(tuple[Any, ...]):
    """The tokens, seconds and speed of a batch. Unpacked into two names, it gives only tokens and seconds.

    `generate_batch` returned `(tokens, seconds)` in one revision and `(tokens, seconds,
    speed)` in the next. Evaluators written for either may run in one process. The
    number of names is read from the bytecode that unpacks the tuple.
    """

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        caller = sys._getframe(1)
        code, offset = caller.f_code.co_code, caller.f_lasti
        # The argument of the instruction is the number of names on the left.
        if code[offset : offset + 2] == bytes([_UNPACK, 2]):
            return iter(self[:2])
        return super().__iter__()


class Engine:
    """The object that evaluators use, with `generate_batch`, `decode_tokens`, `tokenizer` and `model`."""

    def __init__(
        self,
        asker: Asker,
        *,
        options: GenerateOptions = DEFAULT_OPTIONS,
        render: Callable[[Sample], Prompt] | None = None,
        samples: Sequence[Sample] = (),
        reject: Callable[[str, str], None] | None = None,
    ) -> None:
        self.tokenizer: Tokenizer = tokenizer_of(asker.model)
        self.model = LikelihoodModel(self)
        self.asker = asker
        self._options = options
        self._render = None if asker.model.abilities.roles == "free" else render
        self._reject = reject
        self._samples: dict[str, list[Sample]] = {}
        for sample in samples:
            self._samples.setdefault(str(sample.input), []).append(sample)
        self._lengths = sorted(
            {len(text) for text in self._samples if text}, reverse=True
        )
        self._asked: Counter[str] = Counter()
        self._speeds: list[tuple[int, int, float]] = []
        """For each generated batch: its size, the number of tokens written, and the seconds."""
        self._read: list[tuple[int, int, float]] = []
        """For each batch of likelihoods: its size, the number of tokens read, and the seconds."""
        self._rejected: set[str] = set()
        """Ids of the rows that an evaluator could not use."""
        self.rows_asked: set[str] = set()
        """Ids of the rows for which a prompt was sent."""
        self.other_calls = 0
        """Number of prompts that do not belong to a row of the dataset."""
        self.answers = 0
        """Number of prompts that the model answered without an error."""

    def generate_batch(
        self,
        prompts: Sequence[str],
        max_length: int = 100,
        noise: float = 0.0,
        return_speed: bool = False,
    ) -> Generated:
        """Generate text, and return the tokens and the time in seconds; with `return_speed`, also the speed.

        The tokens have the shape `(batch, max_length)`; short rows are padded with the
        tokenizer's end id. `noise` is the temperature. Without it, the temperature is
        that of the task's options, or else 0.
        """
        import numpy

        outputs = self._ask(prompts, self._with(max_length, noise, None))
        rows = [
            self.tokenizer.row(output.candidates[0], max_length)
            if output.candidates
            else []
            for output in outputs
        ]
        tokens = numpy.full(
            (len(rows), max_length),
            self.tokenizer.end,
            dtype=numpy.int64,
        )
        for number, row in enumerate(rows):
            tokens[number, : len(row)] = row
        seconds = _seconds(outputs)
        self._speeds.append((len(rows), sum(map(_written, outputs, rows)), seconds))
        return Generated(
            (tokens, seconds, speed_of(self._speeds[-1:]) if return_speed else None)
        )

    def decode_tokens(
        self,
        tokens: Any,
        utf8_errors: str = "ignore",
    ) -> list[str]:
        """Return the text of each row of token ids. It is empty for a row with unknown ids."""
        rows = tokens.tolist() if hasattr(tokens, "tolist") else list(tokens)
        if rows and isinstance(rows[0], int):
            rows = [rows]
        texts = []
        for row in rows:
            try:
                texts.append(self.tokenizer.decode(row, utf8_errors))
            except (IndexError, KeyError, TypeError):
                texts.append("")
        return texts

    def generate_with_logprobs(
        self,
        prompts: Sequence[str],
        max_length: int = 100,
        echo: bool = False,
        top_logprobs: int = 1,
    ) -> list[Record]:
        """Generate an answer to each prompt. Return its tokens as `tokens, token_strs, logprobs, top_logprobs, text`.

        With `echo`, the prompt's tokens come first, each of which needs a request. The
        very first one has no probability.
        """
        if not self.asker.model.abilities.logprobs:
            raise ModalityMismatch(
                "generate_with_logprobs: this model does not report log-probabilities",
                fix="choose a model that does (gguf/…, openai/…), or an evaluator that only generates",
            )
        if echo:
            problem = "generate_with_logprobs(echo=True): this model cannot weigh the tokens of a prompt"
            self.check_likelihood(problem, "leave echo out")
        outputs = self._ask(prompts, self._with(max_length, 0.0, top_logprobs))
        records = []
        for prompt, output in zip(prompts, outputs, strict=True):
            echoed = prompt_tokens(self, prompt, top_logprobs) if echo else ()
            records.append(as_record([*echoed, *answer_tokens(self, output)]))
        return records

    def analyze_next_token(
        self,
        prompts: Sequence[str] | str,
        top_k: int = 5,
    ) -> list[Record] | None:
        """Print the most probable next tokens of each prompt; for a single prompt, return them, best first."""
        if isinstance(prompts, str):
            return self._likely(prompts, top_k)
        for prompt in prompts:
            print(f"\nPrompt: {prompt}")
            for candidate in self._likely(prompt, top_k):
                print(
                    f"  {candidate['token_str']!r:<20} [probability {candidate['probability']:.2%}]"
                )
        return None

    def _likely(self, prompt: str, top_k: int) -> list[Record]:
        [answer] = self.generate_with_logprobs(
            [prompt],
            max_length=1,
            top_logprobs=top_k,
        )
        likely = answer["top_logprobs"][0] if answer["top_logprobs"] else {}
        best = sorted(likely.items(), key=lambda pair: pair[1], reverse=True)
        return [
            {
                "token": self.first_id(text),
                "token_str": text,
                "logprob": logprob,
                "probability": math.exp(logprob),
            }
            for text, logprob in best[:top_k]
        ]

    def first_id(self, text: str) -> int:
        """Return the id of the token `text`. If the tokenizer splits it, return the first id."""
        return (self.tokenizer.encode(text) or [0])[0]

    def measure_decode_speed(
        self,
        batch_size: int = 128,
        length: int = 32,
        percentile: int = 50,
    ) -> dict[str, float]:
        """Return the speed of all generations so far. If there were none, generate a batch of prompts to measure it."""
        if not self._speeds:
            self.generate_batch(["The"] * batch_size, max_length=length)
        return speed_of(self._speeds, percentile)

    def save_qa_to_jsonl(
        self,
        prompts: Sequence[str],
        responses: Sequence[str],
        task_name: str,
        output_dir: str = ".",
        metadata: Fields | None = None,
    ) -> str:
        """Write prompts and answers to a new file, and return its path."""
        if len(prompts) != len(responses):
            raise ValueError(f"{len(prompts)} prompts and {len(responses)} responses")
        return _saved(task_name, output_dir, _lines(prompts, responses), metadata or {})

    def generate_and_save(
        self,
        prompts: Sequence[str],
        task_name: str,
        max_length: int = 100,
        output_dir: str = ".",
        save_tokens: bool = False,
        metadata: Fields | None = None,
    ) -> tuple[list[str], str]:
        """Return the answers and the file they were written to, optionally with their tokens."""
        start = time.perf_counter()
        tokens, seconds = self.generate_batch(prompts, max_length=max_length)
        responses = self.decode_tokens(tokens)
        spent = max(time.perf_counter() - start, 1e-9)
        facts = {
            "task": task_name,
            "max_length": max_length,
            "num_samples": len(prompts),
            "inference_time": round(seconds, 4),
            "total_time": round(spent, 4),
            "throughput": round(len(prompts) / spent, 2),
            **(metadata or {}),
        }
        lines = _lines(prompts, responses)
        if save_tokens:
            for line, row in zip(lines, tokens.tolist(), strict=True):
                line.update(tokens=row, num_tokens=len(row))
        return responses, _saved(task_name, output_dir, lines, facts)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the engine of the pipeline dialect has no {name!r}")

    def weigh(
        self,
        contexts: Sequence[str],
        continuations: Sequence[str],
        row_prompts: Sequence[str],
    ) -> list[Likelihood | None]:
        """Return the likelihood of each continuation after its context. None if the model returned no likelihood.

        The model gets contexts and continuations as plain text. `row_prompts` has the
        prompt of the data row for each of them.
        """
        self.check_likelihood(
            "this model cannot weigh given texts", "the generation evaluator"
        )
        prompts = [
            Prompt((Message("", (Text(context),)),), continuations=(continuation,))
            for context, continuation in zip(contexts, continuations, strict=True)
        ]
        samples = [
            self._sample(text, number) for number, text in enumerate(row_prompts)
        ]
        outputs = self._answers(prompts, self._options, samples, list(continuations))
        tokens = sum(map(_tokens_read, outputs))
        self._read.append((len(outputs), tokens, _seconds(outputs)))
        return [
            output.likelihoods[0] if output.likelihoods else None for output in outputs
        ]

    def check_likelihood(self, message: str, otherwise: str) -> None:
        """Raise an error with this message if the model cannot compute likelihoods of given texts."""
        if not self.asker.model.abilities.likelihood:
            raise ModalityMismatch(
                message, fix=f"choose a model with likelihood, or {otherwise}"
            )

    def reject(self, item: Fields, why: str) -> None:
        """Record that an evaluator cannot use a row. `why` is the reason."""
        if self._reject is None:
            return
        row = self._row_of(item)
        self._rejected.add(row.id)
        self._reject(row.id, why)

    def _row_of(self, item: Fields) -> Sample:
        """Return the data row of an item. Of rows with the same prompt, it is the one with the same `raw` object."""
        same_prompt = self._open_rows(item["prompt"])
        for row in same_prompt:
            if row.fields is item.get("raw"):
                return row
        if same_prompt:
            return same_prompt[0]
        return self._sample(item["prompt"], 0)

    def _open_rows(self, prompt: str) -> list[Sample]:
        """Return the rows with a prompt that were not rejected."""
        rows = self._samples.get(prompt, [])
        return [row for row in rows if row.id not in self._rejected]

    @property
    def written(self) -> int:
        """The number of tokens that the model has generated so far."""
        return sum(tokens for _, tokens, _ in self._speeds)

    @property
    def speed(self) -> dict[str, float]:
        """The speed of all generations. If there were none, that of all likelihood requests; empty without either."""
        if self.written or self._read:
            return speed_of(self._speeds if self.written else self._read)
        return {}

    def logits(self, tokens: Sequence[int]) -> Logits:
        """Return logits for a list of token ids. They contain each id's probability after the previous ones."""
        return Logits(self, tokens)

    def _ask(
        self,
        prompts: Sequence[str],
        options: GenerateOptions,
    ) -> list[Output]:
        if isinstance(prompts, str):
            raise TypeError(
                f"the engine takes a list of prompts, not the text {prompts[:40]!r}"
            )
        samples = [self._sample(text, number) for number, text in enumerate(prompts)]
        rendered = [self._prompt(text) for text in prompts]
        targets = [
            None if sample.target is None else str(sample.target) for sample in samples
        ]
        return self._answers(rendered, options, samples, targets)

    def _answers(
        self,
        prompts: Sequence[Prompt],
        options: GenerateOptions,
        samples: Sequence[Sample],
        targets: Sequence[Any],
    ) -> list[Output]:
        """Send prompts to the model, and return the outputs. Record the rows with these prompts, and count answers."""
        ids = [sample.id for sample in samples]
        outputs = self.asker.generate(prompts, options, ids, targets)
        for sample in samples:
            same_prompt = self._samples.get(str(sample.input))
            if same_prompt is None:
                self.other_calls += 1
            else:
                self.rows_asked.update(row.id for row in same_prompt)
        self.answers += sum(output.error is None for output in outputs)
        return outputs

    def _prompt(self, text: str) -> Prompt:
        if self._render is None:
            return Prompt((Message("", (Text(text),)),))
        return self._render(Sample("", text))

    def _sample(self, text: str, place: int) -> Sample:
        """Return the data row with this prompt. If several rows have the same prompt, return the next one at each call.

        A text may also be a row's prompt with more text after it. For any other text,
        return a sample named after the number of the call.
        """
        rows = self._samples.get(text)
        if rows is None:
            call_id = f"call-{self.asker.calls + place:06d}"
            return self._continued(text) or Sample(call_id, text)
        if len(rows) == 1:
            return rows[0]
        rows = self._open_rows(text) or rows
        self._asked[text] += 1
        return rows[(self._asked[text] - 1) % len(rows)]

    def _continued(self, text: str) -> Sample | None:
        """Return the row whose prompt is the longest one that `text` begins with.

        Return None if no row matches, or if several rows have that prompt.
        """
        for length in self._lengths:
            rows = self._samples.get(text[:length]) if length < len(text) else None
            if rows is not None:
                return rows[0] if len(rows) == 1 else None
        return None

    def _with(
        self,
        max_length: int,
        noise: float,
        logprobs: int | None,
    ) -> GenerateOptions:
        return self._options.set(
            max_tokens=max_length,
            temperature=noise if noise > 0 else self._options.temperature or 0.0,
            logprobs=logprobs,
        )


def _lines(prompts: Sequence[str], responses: Sequence[str]) -> list[Record]:
    return [
        {"prompt": prompt, "response": response}
        for prompt, response in zip(prompts, responses, strict=True)
    ]


def _saved(
    name: str,
    folder: str,
    lines: Sequence[Fields],
    facts: Fields,
) -> str:
    path = Path(folder) / f"{name}_{time.strftime('%Y%m%d_%H%M%S')}.jsonl"
    with own_file(path).open("w", encoding="utf-8") as out:
        for index, line in enumerate(lines):
            entry = {
                "index": index,
                **line,
                "timestamp": datetime.now().isoformat(),
                **facts,
            }
            out.write(json.dumps(entry, ensure_ascii=False) + "\n")
    return str(path)


def _seconds(outputs: Sequence[Output]) -> float:
    return sum(output.seconds or 0.0 for output in outputs)


def _tokens_read(output: Output) -> int:
    total = 0
    if output.usage is not None:
        total += output.usage.input_tokens or 0
    for likelihood in output.likelihoods:
        total += likelihood.tokens or 0
    return total


def _written(output: Output, row: Sequence[int]) -> int:
    """Return the number of tokens in an answer. If the model reports none, return the length of `row`."""
    counted = None
    if output.usage is not None:
        counted = output.usage.output_tokens
    if counted is None:
        return len(row)
    return counted


def speed_of(
    batches: Sequence[tuple[int, int, float]],
    percentile: int = 50,
) -> dict[str, float]:
    """Return the speed over some batches: tokens per second, and milliseconds per step of a batch.

    The forward pass cannot be timed separately from outside, so `forward` and `full`
    are both the time of the whole step.
    """
    import numpy

    tokens = sum(count for _, count, _ in batches)
    seconds = sum(spent for _, _, spent in batches)
    rate = tokens / seconds if seconds > 0 else 0.0
    steps = [1000 * spent * size / count for size, count, spent in batches if count]
    step_ms = 0.0
    if steps:
        step_ms = float(numpy.percentile(steps, percentile))
    return {
        "batch_size": max((size for size, _, _ in batches), default=0),
        "forward_tps": rate,
        "full_tps": rate,
        f"step_forward_ms_p{percentile}": step_ms,
        f"step_full_ms_p{percentile}": step_ms,
    }
