"""MBPP: Python functions written from one sentence and the tests they must pass.

One row: `{"task_id": 11, "text": "Write a python function to …", "code": "def …", "test_list": ["assert …", …],
"test_setup_code": "", "challenge_test_list": []}`

Citation: Austin et al. 2021, Program Synthesis with Large Language Models, arXiv 2108.07732. Licence: CC BY 4.0.

Protocol: the paper's question with its tests, asked without its three worked examples; the last fenced block, else all
of the answer, is run against `test_list` in a sandbox. Pass@k by the unbiased estimate.
"""

from ...core import DataSource, GenerateOptions, Message, Prompt, Sample, Task

QUESTION = (
    "You are an expert Python programmer, and here is your task: {text} Your code should pass these tests:\n\n"
    "{tests}\n\nAnswer with the code alone, in one ```python block."
)


def as_question(sample: Sample) -> Prompt:
    """The task with its tests."""
    tests = "\n".join(map(str, sample.fields["test_list"]))
    text = sample.fields.get("text") or sample.fields.get("prompt")
    return Prompt((Message.of("user", QUESTION.format(text=text, tests=tests)),))


mbpp = Task(
    name="mbpp",
    dataset=DataSource(
        hub="google-research-datasets/mbpp",
        config="full",
        split="test",
        local=("mbpp/test.jsonl", "mbpp/mbpp.jsonl"),
        mini="benchmarks/data/text/mbpp.jsonl",
    ),
    columns={"id": "task_id", "input": "text", "target": "code"},
    template=as_question,
    scorers=({"name": "runs", "column": "test_list"},),
    options=GenerateOptions(temperature=0.0, max_tokens=512),
    protocol="mbpp@0shot-tests",
    description="functions written from a sentence and their tests: pass@k, run in a sandbox",
    citation="arXiv 2108.07732",
    licence="CC BY 4.0",
    data_hint="test.jsonl with text and test_list",
)
