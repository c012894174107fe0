"""IFEval: 541 prompts with 834 instructions that a program can verify.

One row: `{"key": 1001, "prompt": "… You are not allowed to use any commas in your response.",
"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}`

Citation: Zhou et al. 2023, Instruction-Following Evaluation for Large Language Models, arXiv 2311.07911. Licence: the
checker Apache-2.0, the prompts CC BY 4.0.

Protocol: the prompt as a user turn, greedy decoding, at most 1,280 tokens; the checks are described in docs/ifeval.md.
"""

from ...core import DataSource, GenerateOptions, Task
from ...templates import Question

ifeval = Task(
    name="ifeval",
    dataset=DataSource(
        hub="google/IFEval",
        split="train",
        local=("ifeval/input_data.jsonl", "ifeval/ifeval_input_data.jsonl"),
        mini="benchmarks/data/text/ifeval.jsonl",
    ),
    columns={"id": "key", "input": "prompt"},
    template=Question(),
    scorers=("ifeval",),
    options=GenerateOptions(temperature=0.0, max_tokens=1280),
    protocol="ifeval@0shot",
    description="verifiable instructions: by prompt and by instruction, strict and loose",
    citation="arXiv 2311.07911",
    licence="CC BY 4.0",
    data_hint="input_data.jsonl with key, prompt, instruction_id_list and kwargs",
)
