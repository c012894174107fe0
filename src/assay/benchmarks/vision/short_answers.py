"""Short answers about an image, scored against ten annotators: VQAv2, OK-VQA, OCR-VQA, TextVQA.

One row: `{"index": 12, "image": "iVBORw0…", "question": "What colour is the ball?", "answer": "['red', 'red', 'dark
red', …]"}`, one entry for each annotator; a column `answers` of `[{"answer": "red"}, …]` does as well.

Citations: VQAv2 arXiv 1612.00837; OK-VQA arXiv 1906.00067; OCR-VQA Mishra et al., ICDAR 2019; TextVQA arXiv 1904.08920.

Protocols: `@always` normalizes every answer; `vqav2_a013f00` does as the last revision of the official script, which
normalizes only where the annotators disagree. OCR-VQA has one answer to a question: it stands for ten, so that its
VQA accuracy is equality after normalization; `ocrvqa_exact` is equality apart from case, as VLMEvalKit counts it.
"""

from collections.abc import Mapping
from typing import Any

from ...core import DataSource, GenerateOptions, Prompt, Sample, Task
from ...datasets.faults import RowFault
from ...templates.built import turn
from ...templates.plain import question_text
from .tables import Table, answer_of, image_of

ANNOTATORS = 10
HINT = "a TSV with index, image, question, answer (a list literal, one entry for each annotator)"


def short_answer(sample: Sample) -> Prompt:
    """The image, the question, and the request for a word or phrase."""
    text = (
        f"{question_text(sample)}\nAnswer the question using a single word or phrase."
    )
    return Prompt((turn("user", sample, text),))


def annotators(row: Mapping[str, Any]) -> tuple[str, ...]:
    """One answer for each annotator."""
    listed = row.get("answers")
    if isinstance(listed, (list, tuple)) and listed:
        return tuple(
            str(entry["answer"] if isinstance(entry, Mapping) else entry)
            for entry in listed
        )
    found = answer_of(row)
    if found is None:
        raise RowFault(
            "the row has no answers",
            column="answer",
            fix="write ['red', 'red', …], ten of them",
        )
    return found if isinstance(found, tuple) else (str(found),)


def one_for_ten(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The annotators' answers; a single one is taken as what all ten would have said."""
    found = annotators(row)
    return found * ANNOTATORS if len(found) == 1 else found


def _task(name: str, file: str, what: str, citation: str, licence: str) -> Task:
    return Task(
        name=name,
        dataset=DataSource(
            local=(f"{file}.tsv",),
            mini="benchmarks/data/vision/short_answers.tsv",
            read=Table(target=annotators, cluster=image_of),
        ),
        template=short_answer,
        scorers=("vqa_accuracy",),
        options=GenerateOptions(temperature=0.0, max_tokens=32),
        protocol=f"{name}@always",
        needs=frozenset({"image"}),
        description=f"{what}, VQA accuracy (rule as published)",
        citation=citation,
        licence=licence,
        data_hint=f"{file}.tsv: {HINT}",
    )


vqav2 = _task("vqav2", "VQAv2_VAL", "VQAv2 val", "arXiv 1612.00837", "CC BY 4.0")
vqav2_a013f00 = vqav2.but(
    name="vqav2_a013f00",
    scorers=({"name": "vqa_accuracy", "v": "a013f00"},),
    protocol="vqav2@a013f00",
    description="VQAv2 val as the last official revision scores it (rule as published)",
)
okvqa = _task("okvqa", "OKVQA_VAL", "OK-VQA val", "arXiv 1906.00067", "CC BY 4.0")
textvqa = _task(
    "textvqa", "TextVQA_VAL", "TextVQA val", "arXiv 1904.08920", "CC BY 4.0"
)
ocrvqa = _task(
    "ocrvqa", "OCRVQA_TESTCORE", "OCR-VQA, book covers", "ICDAR 2019", "research use"
)
ocrvqa = ocrvqa.but(
    dataset=DataSource(
        local=("OCRVQA_TESTCORE.tsv", "OCRVQA_TEST.tsv"),
        mini="benchmarks/data/vision/short_answers.tsv",
        read=Table(target=one_for_ten, cluster=image_of),
    ),
    description="OCR-VQA, book covers, VQA's normalizing of the one answer (our own rule)",
)
ocrvqa_exact = ocrvqa.but(
    name="ocrvqa_exact",
    scorers=({"name": "exact_match", "ignore_case": True},),
    protocol="ocrvqa@exact",
    description="OCR-VQA, book covers, by equality apart from case (VLMEvalKit's rule as published)",
)
