"""HumanEval: 164 Python functions to be completed from signature and docstring.

One row: `{"task_id": "HumanEval/0", "prompt": "def has_close_elements(…): …", "entry_point": "has_close_elements",
"canonical_solution": "…", "test": "def check(candidate): …"}`

Citation: Chen et al. 2021, Evaluating Large Language Models Trained on Code, arXiv 2107.03374. Licence: MIT.

Protocol: the prompt as a text to be continued, the official stop sequences, pass@k over candidates and epochs by the
unbiased estimate. `humaneval` runs each function against its tests in a sandbox, `humaneval_generate` writes
completions and checks only that they are Python. `humaneval_chat` asks chat models for the whole function in a fence.
`humaneval_plus` has the many more inputs of EvalPlus (Liu et al. 2023, arXiv 2305.01210): `base_input`, `plus_input`
and `atol` as its release has them, or the tests of its hub page.
"""

from ...core import DataSource, GenerateOptions, Message, Prompt, Sample, Task
from ...scorers.code.code_text import STOPS
from ...templates import Completion

QUESTION = (
    "Complete this Python function. Answer with the whole function and its imports, in one ```python block.\n\n"
    "```python\n{prompt}\n```"
)


def as_question(sample: Sample) -> Prompt:
    """The function to be completed, as a question."""
    return Prompt(
        (Message.of("user", QUESTION.format(prompt=str(sample.input).rstrip())),)
    )


humaneval_generate = Task(
    name="humaneval_generate",
    dataset=DataSource(
        hub="openai/openai_humaneval",
        split="test",
        local=("humaneval/HumanEval.jsonl.gz", "humaneval/HumanEval.jsonl"),
        mini="benchmarks/data/text/humaneval.jsonl",
    ),
    columns={"id": "task_id", "input": "prompt", "target": "canonical_solution"},
    template=Completion(),
    scorers=("python_syntax",),
    options=GenerateOptions(temperature=0.0, max_tokens=512, stop=STOPS),
    protocol="humaneval@generate",
    description="HumanEval completions, parsed but never run",
    citation="arXiv 2107.03374",
    licence="MIT",
    data_hint="HumanEval.jsonl or HumanEval.jsonl.gz",
)

humaneval = humaneval_generate.but(
    name="humaneval",
    scorers=("humaneval",),
    protocol="humaneval@pass",
    description="functions completed from their docstring: pass@k, run in a sandbox",
)

humaneval_chat = humaneval.but(
    name="humaneval_chat",
    template=as_question,
    options=GenerateOptions(temperature=0.0, max_tokens=512),
    protocol="humaneval@chat-pass",
    description="HumanEval as a question, answered with a fenced block: pass@k, run in a sandbox",
)

humaneval_plus = humaneval.but(
    name="humaneval_plus",
    dataset=DataSource(
        hub="evalplus/humanevalplus",
        split="test",
        local=(
            "humaneval_plus/HumanEvalPlus.jsonl.gz",
            "humaneval_plus/HumanEvalPlus.jsonl",
            "HumanEvalPlus.jsonl.gz",
        ),
        mini="benchmarks/data/text/humaneval_plus.jsonl",
    ),
    scorers=("evalplus",),
    options=GenerateOptions(temperature=0.0, max_tokens=768, stop=STOPS),
    protocol="humaneval_plus@pass",
    description="HumanEval with EvalPlus's many more inputs: pass@k, run in a sandbox (format-checked)",
    citation="arXiv 2305.01210",
    licence="Apache-2.0",
    data_hint="HumanEvalPlus.jsonl with base_input, plus_input and canonical_solution",
)
