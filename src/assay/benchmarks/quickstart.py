"""Quickstart: five small sets that show in half a minute whether a model answers, remembers and obeys.

One row of each: `{"question": "What is 7 + 5? …", "answer": "12"}`; `{"question": "…", "answers": ["8", "eight"]}`;
`{"question": "…", "options": ["…", …], "answer": "B"}`; `{"turns": ["My name is Ada. …", "What is my name?"], …}`;
`{"prompt": "Write the year 1999 and nothing else.", "pattern": "1999\\\\.?"}`

Written for assay; licence CC0. A smoke test, not a measure of ability: each set has 10 to 12 rows, and its interval
says how little that is.

Protocol: no examples, greedy decoding, answers of at most 4 to 14 tokens. Of a dialogue the second answer is scored,
after the model's own first.
"""

import re

from ..core import (
    DataSource,
    GenerateOptions,
    Outcome,
    Output,
    Sample,
    Score,
    Suite,
    Task,
)
from ..templates import Choices, Question

FOLDER = "benchmarks/data/quickstart"


def follows_format(sample: Sample, output: Output) -> Score:
    """1 if the whole answer, blanks at its ends aside, has the form the row's pattern describes."""
    answer = output.text.strip()
    if not answer:
        return Score(0.0, Outcome.UNPARSED)
    return Score(
        float(re.fullmatch(sample["pattern"], answer) is not None), answer=answer
    )


def _task(name: str, max_tokens: int, **more: object) -> Task:
    task = Task(
        name=f"quickstart_{name}",
        dataset=DataSource(package=f"{FOLDER}/{name}.jsonl"),
        options=GenerateOptions(temperature=0.0, max_tokens=max_tokens),
        licence="CC0",
        data_hint=f"rows like those of {name}.jsonl in the package",
    )
    return task.but(**more)


quickstart_arithmetic = _task(
    "arithmetic",
    24,
    scorers=("number",),
    tags=("operation",),
    description="sums of small numbers",
)
quickstart_facts = _task(
    "facts", 10, scorers=("includes",), tags=("topic",), description="well-known facts"
)
quickstart_choices = _task(
    "choices",
    16,
    template=Choices(layout="lines"),
    scorers=("choice",),
    description="four options, one letter",
)
quickstart_dialogue = _task(
    "dialogue",
    10,
    scorers=("includes",),
    tags=("skill",),
    description="the second answer of a two-turn dialogue",
)
quickstart_format = _task(
    "format",
    14,
    template=Question(),
    scorers=(follows_format,),
    tags=("kind",),
    description="answers of a prescribed form",
)

quickstart = Suite(
    "quickstart",
    (
        quickstart_arithmetic,
        quickstart_facts,
        quickstart_choices,
        quickstart_dialogue,
        quickstart_format,
    ),
    description="five small sets, half a minute on one CPU core",
)
