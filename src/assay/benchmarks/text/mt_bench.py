"""MT-Bench: 80 dialogues of two turns in eight categories, both answers graded by a judge from 1 to 10.

One row: `{"question_id": 2, "category": "math", "turns": ["A box holds 12 eggs. How many are in 7 boxes?", "Of those 5
are broken. How many are whole?"]}` in `question.jsonl`; reference answers lie beside it, in
`reference_answer/gpt-4.jsonl` or `reference_answer_gpt-4.jsonl`, the published wording of the judge's prompts in
`judge_prompts.jsonl`.

Citation: Zheng et al. 2023, Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena, arXiv 2306.05685.
Licence: Apache-2.0.

Protocols, after FastChat's single-answer grading: at most 1,024 tokens, at the temperature of the category; the judge
sees the conversation so far and, for math, reasoning and coding, the reference answers; the value is the mean of all
grades. `mt_bench` asks the judge in assay's words, with the answers fenced, and reads a JSON verdict.
`mt_bench_published` takes the prompts of `judge_prompts.jsonl` and reads `[[rating]]`. Both need `--judge MODEL`, and
compare only under one judge.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ...core import (
    DataSource,
    GenerateOptions,
    Prompt,
    Sample,
    Task,
    UsageError,
    as_messages,
)
from ...datasets import Samples, open_dataset
from ...datasets.faults import RowFault

MINI = "benchmarks/data/text/mt_bench"
HINT = "question.jsonl with question_id, category and turns; reference answers and judge_prompts.jsonl beside it"
TEMPERATURES = {
    "writing": 0.7,
    "roleplay": 0.7,
    "extraction": 0.0,
    "math": 0.0,
    "coding": 0.0,
    "reasoning": 0.0,
    "stem": 0.1,
    "humanities": 0.1,
}
DEFAULT_TEMPERATURE = 0.7
WITH_REFERENCE = ("math", "reasoning", "coding")
"""Categories whose answers are held against a reference."""
_REFERENCES = ("reference_answer/gpt-4.jsonl", "reference_answer_gpt-4.jsonl")
_WORDING = {
    False: ("single-v1", "single-v1-multi-turn"),
    True: ("single-math-v1", "single-math-v1-multi-turn"),
}
"""The judge's prompts for the first and the later rounds, by whether there is a reference."""


@dataclass(frozen=True)
class ToSample:
    """One row as a dialogue, with its reference answers and, where it is asked for, the judge's prompts."""

    references: Mapping[str, Sequence[str]]
    wording: Mapping[str, Mapping[str, str]] | None = None

    def __call__(self, row: Mapping[str, Any]) -> Sample:
        id, category = (
            str(row.get("question_id", row.get("prompt_id", ""))),
            str(row.get("category", "")),
        )
        turns = row.get("turns", row.get("prompt"))
        if (
            not isinstance(turns, (list, tuple))
            or not turns
            or not all(isinstance(turn, str) for turn in turns)
        ):
            raise RowFault(
                "expected a list of turns",
                column="turns",
                got=turns,
                fix='write ["first", "second"]',
            )
        references = self.references.get(id) or row.get("reference") or ()
        # In other categories the published judge sees none, even where the file has one.
        texts = [str(text) for text in references] if category in WITH_REFERENCE else []
        fields = {**row, "references": texts}
        if self.wording is not None:
            fields["judge_prompts"] = [
                self.wording[name] for name in _WORDING[bool(texts)]
            ]
        return Sample(
            id,
            turns[0],
            tuple(texts) or None,
            fields=fields,
            tags={"category": category},
            turns=tuple(turns[1:]),
        )


def read_dialogues(found: str | Path, *, published: bool) -> Samples:
    """The dialogues of a file, a folder or the hub; `published` demands the published prompts of the judge."""
    if str(found).startswith(("hub:", "hf://")):
        if published:
            raise UsageError(
                "the hub copy has no judge_prompts.jsonl",
                where=str(found),
                fix=f"--data: {HINT}",
            )
        return Samples(
            open_dataset(found).shards, to_sample=ToSample({}), where=str(found)
        )
    file = Path(found) / "question.jsonl" if Path(found).is_dir() else Path(found)
    wording = _wording(file.parent / "judge_prompts.jsonl") if published else None
    beside = next(
        (file.parent / name for name in _REFERENCES if (file.parent / name).is_file()),
        None,
    )
    references = (
        {}
        if beside is None
        else {
            str(line["question_id"]): line["choices"][0]["turns"]
            for line in _lines(beside)
        }
    )
    return Samples(
        open_dataset(file).shards,
        to_sample=ToSample(references, wording),
        where=str(file),
    )


def _wording(file: Path) -> dict[str, Mapping[str, str]]:
    prompts: dict[str, Mapping[str, str]] = {}
    if file.is_file():
        prompts.update((str(line["name"]), line) for line in _lines(file))
    missing = [
        name for names in _WORDING.values() for name in names if name not in prompts
    ]
    if missing:
        what = f"has no prompt {missing[0]!r}" if prompts else "is missing"
        raise UsageError(
            f"judge_prompts.jsonl {what}",
            where=str(file.parent),
            fix="take it from the published data, or run mt_bench, which asks the judge in assay's words",
        )
    return prompts


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            if line.strip():
                yield json.loads(line)
        except ValueError as error:
            raise UsageError(
                f"not valid JSON: {error}", where=f"{file}:{number}"
            ) from error


def first_turn(sample: Sample) -> Prompt:
    """The first turn, at the temperature of its category."""
    temperature = TEMPERATURES.get(sample.tags.get("category", ""), DEFAULT_TEMPERATURE)
    return Prompt(
        as_messages(sample.input), options=GenerateOptions(temperature=temperature)
    )


def _source(*, published: bool) -> DataSource:
    return DataSource(
        hub="HuggingFaceH4/mt_bench_prompts",
        split="train",
        local=("mt_bench/question.jsonl",),
        mini=MINI,
        read=partial(read_dialogues, published=published),
    )


mt_bench = Task(
    name="mt_bench",
    dataset=_source(published=False),
    template=first_turn,
    scorers=({"name": "judge", "scale": "1-10", "template": "auto", "rounds": "all"},),
    options=GenerateOptions(max_tokens=1024),
    protocol="mt_bench@single-grading",
    description="80 dialogues of two turns, both graded 1 to 10 by a judge",
    citation="arXiv 2306.05685",
    licence="Apache-2.0",
    data_hint=HINT,
)
mt_bench_published = mt_bench.but(
    name="mt_bench_published",
    dataset=_source(published=True),
    scorers=("mt_bench",),
    protocol="mt_bench@published",
    description="MT-Bench with the published prompts of the judge",
)
