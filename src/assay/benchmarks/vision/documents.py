"""Questions about charts, documents and text in images: ChartQA, DocVQA, InfoVQA, OCRBench.

One row: `{"index": 3, "image": "iVBORw0…", "question": "What is the total?", "answer": "['12.50', '$12.50']",
"category": "Doc-oriented VQA", "split": "test_human"}`; any answer of the list will do.

Citations: ChartQA arXiv 2203.10244; DocVQA arXiv 2007.00398; InfographicVQA arXiv 2104.12756; OCRBench arXiv
2305.07895.

Protocols: ChartQA by relaxed accuracy (numbers within 5 %), DocVQA and InfoVQA by ANLS with threshold 0.5, OCRBench by
containment; times 1,000, the mean over its 1,000 rows is the published score.
"""

from ...core import DataSource, GenerateOptions, Task
from ...templates import Question
from .short_answers import short_answer
from .tables import Table, image_of

MINI = "benchmarks/data/vision/{}.tsv"
"""A set of its own for each, since each has columns of its own."""


def _task(
    name: str, file: str, what: str, scorer: str, citation: str, licence: str
) -> Task:
    return Task(
        name=name,
        dataset=DataSource(
            local=(f"{file}.tsv",), mini=MINI.format(name), read=Table(cluster=image_of)
        ),
        template=short_answer,
        scorers=(scorer,),
        options=GenerateOptions(temperature=0.0, max_tokens=64),
        protocol=f"{name}@{scorer}",
        needs=frozenset({"image"}),
        description=f"{what} (rule as published)",
        citation=citation,
        licence=licence,
        data_hint=f"{file}.tsv with index, image, question, answer (a text or a list literal)",
    )


chartqa = _task(
    "chartqa",
    "ChartQA_TEST",
    "ChartQA, within 5 %",
    "relaxed_accuracy",
    "arXiv 2203.10244",
    "GPL-3.0",
)
docvqa = _task(
    "docvqa",
    "DocVQA_VAL",
    "DocVQA val, ANLS",
    "anls",
    "arXiv 2007.00398",
    "research use",
)
infovqa = _task(
    "infovqa",
    "InfoVQA_VAL",
    "InfographicVQA val, ANLS",
    "anls",
    "arXiv 2104.12756",
    "research use",
)
_ocrbench = _task(
    "ocrbench",
    "OCRBench",
    "OCRBench, five kinds of reading",
    "ocrbench",
    "arXiv 2305.07895",
    "MIT",
)
ocrbench = _ocrbench.but(
    dataset=DataSource(
        hub="echo840/OCRBench",
        split="test",
        local=("OCRBench.tsv",),
        mini=MINI.format("ocrbench"),
        read=Table(aliases={"category": "question_type"}),
    ),
    template=Question(),
    protocol="ocrbench@contains",
)
