"""MMLU-Pro: 12,032 questions of 14 subjects with up to ten options.

One row: `{"question_id": 70, "question": "…", "options": ["…", …], "answer": "I", "answer_index": 8,
"cot_content": "", "category": "business", "src": "…"}`

Citation: Wang et al. 2024, MMLU-Pro, arXiv 2406.01574. Licence: Apache-2.0 (code), MIT (data on the hub).

Protocols: `mmlu_pro` asks for the letter at once, by likelihood, first token or the letter written, whichever the model
can serve first. `mmlu_pro_cot` asks for steps and then "the answer is (X)", without
examples, so that it means the same on every copy of the data. `mmlu_pro_cot_5shot` is the official one: before the
question the first five of `validation` of its subject, with their worked answers.
"""

from dataclasses import dataclass

from ...core import (
    DataSource,
    Fewshot,
    GenerateOptions,
    Message,
    Prompt,
    Sample,
    Task,
    Text,
)
from ...templates import LAYOUTS, Choices
from ...templates.choices import labels_for
from ...templates.jinja import LETTERS
from ...templates.plain import question_text
from .common_choices import LETTERS_WEIGHED

HUB = "TIGER-Lab/MMLU-Pro"
STEPS = "Let's think step by step."


@dataclass(frozen=True)
class StepByStep:
    """The official question: the task as system text, the options below each other, an answer begun with "steps"."""

    def __call__(self, sample: Sample) -> Prompt:
        subject = sample.fields.get("category", "the subject")
        head = (
            f"The following are multiple choice questions (with answers) about {subject}. Think step by step and then"
            ' finish your answer with "the answer is (X)" where X is the correct letter choice.'
        )
        options = LAYOUTS["lines"](labels_for(sample, LETTERS), sample.choices)
        question = (
            f"Question:\n{question_text(sample)}\nOptions:\n{options}\nAnswer: {STEPS}"
        )
        return Prompt(
            (Message("system", (Text(head),)), Message("user", (Text(question),)))
        )

    def solution(self, sample: Sample) -> str:
        """The worked answer of the row; where it has none, the answer in the wanted form."""
        worked = (
            str(sample.fields.get("cot_content") or "")
            .removeprefix("A:")
            .strip()
            .removeprefix(STEPS)
            .strip()
        )
        return worked or f"The answer is ({sample.target})."


mmlu_pro = Task(
    name="mmlu_pro",
    dataset=DataSource(
        hub=HUB,
        split="test",
        local=(
            "mmlu_pro/test.jsonl",
            "mmlu_pro/slice.jsonl",
            "mmlu_pro/data/test-00000-of-00001.parquet",
            "data/test-00000-of-00001.parquet",
        ),
        mini="benchmarks/data/text/mmlu_pro.jsonl",
    ),
    columns={"target": "answer", "choices": "options", "id": "question_id"},
    template=Choices(layout="lines"),
    scorers=("choice",),
    measures=(LETTERS_WEIGHED, "first_token", "letter"),
    options=GenerateOptions(temperature=0.0, max_tokens=32),
    tags=("category",),
    protocol="mmlu_pro@direct-0shot",
    description="14 subjects, up to ten options, the letter at once",
    citation="arXiv 2406.01574",
    licence="MIT",
    data_hint="JSONL or Parquet with question_id, question, options, answer, category",
)

mmlu_pro_cot = mmlu_pro.but(
    name="mmlu_pro_cot",
    template=StepByStep(),
    scorers=("mmlu_pro",),
    measures=(),
    options=mmlu_pro.options.set(max_tokens=2048, stop=("Question:",)),
    protocol="mmlu_pro@cot-0shot",
    description='MMLU-Pro with steps before "the answer is (X)", no examples',
)

mmlu_pro_cot_5shot = mmlu_pro_cot.but(
    name="mmlu_pro_cot_5shot",
    fewshot=Fewshot(
        num=5,
        source=DataSource(
            hub=HUB,
            split="validation",
            local=(
                "mmlu_pro/validation.jsonl",
                "mmlu_pro/data/validation-00000-of-00001.parquet",
                "data/validation-00000-of-00001.parquet",
            ),
            mini="benchmarks/data/text/mmlu_pro_validation.jsonl",
        ),
        pick={"name": "first", "same": "category"},
    ),
    protocol="mmlu_pro@cot-5shot",
    description="MMLU-Pro as published: five worked examples of the subject from validation",
    data_hint="a folder with test.jsonl and validation.jsonl; without validation use mmlu_pro_cot",
)
