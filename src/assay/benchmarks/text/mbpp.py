"""MBPP: Python functions written from one sentence and the tests they must pass.

One row: `{"task_id": 11, "text": "Write a python function to …", "code": "def …", "test_list": ["assert …", …],
"test_setup_code": "", "challenge_test_list": []}`

Citation: Austin et al. 2021, Program Synthesis with Large Language Models, arXiv 2108.07732. Licence: CC BY 4.0.

Protocol: `mbpp` asks as the paper does: three solved examples (tasks 2, 3 and 4 where the data has them), each with its
tests, between `[BEGIN]` and `[DONE]`, as one text to be continued. `mbpp_chat` asks for a fenced block, no examples.
What comes before `[DONE]`, or its last fenced block, is run against `test_list` after `test_setup_code` in a sandbox.
`challenge_test_list` counts only where a scorer names it (`extra: challenge_test_list`), as in the paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...core import DataSource, Fewshot, GenerateOptions, Message, Prompt, Sample, Task

TASK = "You are an expert Python programmer, and here is your task: {text} Your code should pass these tests:\n\n{tests}"
SHOWN = ("2", "3", "4")
"""The ids of the paper's examples."""
_HUB = "google-research-datasets/mbpp"
_MINI = "benchmarks/data/text/mbpp.jsonl"
_RUNS = {
    "name": "runs",
    "column": "test_list",
    "setup_column": "test_setup_code",
    "until": "[DONE]",
}


def _task(sample: Sample) -> str:
    text = sample.fields.get("text") or sample.fields.get("prompt")
    return TASK.format(text=text, tests="\n".join(map(str, sample.fields["test_list"])))


@dataclass(frozen=True)
class AsPublished:
    """The task with its tests, to be continued with the code."""

    def __call__(self, sample: Sample) -> Prompt:
        return Prompt((Message.of("", f"{_task(sample)}\n[BEGIN]\n"),))

    def solution(self, sample: Sample) -> str:
        """How a solved example ends."""
        return f"{str(sample.target).strip()}\n[DONE]"


def as_question(sample: Sample) -> Prompt:
    """The task with its tests, as a question."""
    return Prompt(
        (
            Message.of(
                "user",
                f"{_task(sample)}\n\nAnswer with the code alone, in one ```python block.",
            ),
        )
    )


def pick_published(
    sample: Sample, pool: Sequence[Sample], num: int, rng: Any
) -> list[Sample]:
    """The paper's examples, else the first of the data that are not the question."""
    others = [one for one in pool if one.id != sample.id]
    published = [one for one in others if one.id in SHOWN]
    return (published if len(published) >= num else others)[:num]


mbpp = Task(
    name="mbpp",
    dataset=DataSource(
        hub=_HUB,
        config="full",
        split="test",
        local=("mbpp/test.jsonl", "mbpp/mbpp.jsonl"),
        mini=_MINI,
    ),
    columns={"id": "task_id", "input": "text", "target": "code"},
    template=AsPublished(),
    scorers=(_RUNS,),
    options=GenerateOptions(temperature=0.0, max_tokens=512, stop=("[DONE]",)),
    fewshot=Fewshot(
        num=3,
        source=DataSource(
            hub=_HUB,
            config="full",
            split="prompt",
            local=("mbpp/prompt.jsonl", "mbpp/mbpp.jsonl", "mbpp/test.jsonl"),
            mini=_MINI,
        ),
        pick=pick_published,
        multiturn=False,
    ),
    protocol="mbpp@3shot",
    description="functions written from a sentence and their tests, three examples: pass@k, run in a sandbox",
    citation="arXiv 2108.07732",
    licence="CC BY 4.0",
    data_hint="test.jsonl with text and test_list, prompt.jsonl beside it for the examples",
)

mbpp_chat = mbpp.but(
    name="mbpp_chat",
    template=as_question,
    options=GenerateOptions(temperature=0.0, max_tokens=512),
    fewshot=Fewshot(),
    protocol="mbpp@0shot-tests",
    description="functions written from a sentence and their tests, as a question: pass@k, run in a sandbox",
)
