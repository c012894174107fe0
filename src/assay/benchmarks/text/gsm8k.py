"""GSM8K: 1,319 grade-school word problems with worked solutions.

One row: `{"question": "A robe takes 2 bolts … How many bolts in total does it take?", "answer": "… #### 3"}`

Citation: Cobbe et al. 2021, Training Verifiers to Solve Math Word Problems, arXiv 2110.14168. Licence: MIT.

Protocol: five solved examples, greedy decoding, the filters of lm-evaluation-harness (`gsm8k`, version 3). The examples
are drawn from `train` where the data has it, else from the file itself; a question is never among its own examples.
`gsm8k` shows them as turns of a chat, `gsm8k_completion` as one text to be continued, which is the harness's default.
"""

from ...core import DataSource, Fewshot, GenerateOptions, Sample, Task
from ...templates import Completion
from ...templates.plain import question_text

HUB = "openai/gsm8k"
MINI = "benchmarks/data/text/gsm8k.jsonl"


def as_question(sample: Sample) -> str:
    """The question as a user turn; a solved example ends with the worked solution."""
    return f"Question: {question_text(sample)}\nAnswer:"


gsm8k = Task(
    name="gsm8k",
    dataset=DataSource(
        hub=HUB,
        config="main",
        split="test",
        local=(
            "gsm8k/test.jsonl",
            "gsm8k/main/test-00000-of-00001.parquet",
            "main/test-00000-of-00001.parquet",
        ),
        mini=MINI,
    ),
    template=as_question,
    scorers=("gsm8k",),
    options=GenerateOptions(
        temperature=0.0, max_tokens=512, stop=("Question:", "</s>", "<|im_end|>")
    ),
    fewshot=Fewshot(
        num=5,
        source=DataSource(
            hub=HUB,
            config="main",
            split="train",
            local=(
                "gsm8k/train.jsonl",
                "gsm8k/main/train-00000-of-00001.parquet",
                "main/train-00000-of-00001.parquet",
                "gsm8k/test.jsonl",
            ),
            mini=MINI,
        ),
    ),
    protocol="gsm8k@5shot-chat",
    description="grade-school word problems, five worked examples",
    citation="arXiv 2110.14168",
    licence="MIT",
    data_hint="test.jsonl with question and answer, train.jsonl beside it for the examples",
)

gsm8k_completion = gsm8k.but(
    name="gsm8k_completion",
    template=Completion(prefix="Question: ", suffix="\nAnswer:"),
    protocol="gsm8k@5shot-completion",
    description="GSM8K as one text to be continued, as lm-evaluation-harness asks by default",
)
