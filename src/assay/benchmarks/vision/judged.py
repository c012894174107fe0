"""Free answers that a judge grades: MM-Vet and CORE-MM.

One row: `{"index": 4, "image": "iVBORw0…", "question": "What is x in the equation?", "answer": "-1<AND>-5",
"category": "ocr,math"}`. In MM-Vet's references `<AND>` joins what must all be there and `<OR>` what may stand for it;
`category` lists the capabilities. CORE-MM has several images in a list literal, and `complexity` (Moderate, High).

Citations: MM-Vet arXiv 2308.02490; CORE-MM arXiv 2311.11567.

Protocols: `mmvet` asks the judge for a grade from 0 to 1 with MM-Vet's reading of references and assay's own wording of
the request, five times at rising temperature until there is one. `core_mm` is assay's own rating of 1 to 5 against the
reference: not a number to hold against those of the paper. `core_mm_official` has the paper's arithmetic (grades from 0
to 1, highly complex questions counted twice, of 100); the request to the judge is worded by assay. All need
`--judge MODEL`, and compare only under one judge.
"""

from collections.abc import Mapping
from typing import Any

from ...core import DataSource, GenerateOptions, Task
from ...scorers.vision.mmvet import MmVet
from ...summarizers.mmvet import MmVet as MmVetTable
from ...templates import Question
from .tables import Table

MINI = "benchmarks/data/vision/judged.tsv"

mmvet = Task(
    name="mmvet",
    dataset=DataSource(local=("MMVet.tsv",), mini=MINI, read=Table()),
    template=Question(),
    scorers=(MmVet(),),
    summarizers=(MmVetTable(),),
    options=GenerateOptions(temperature=0.0, max_tokens=512),
    protocol="mmvet@judge",
    needs=frozenset({"image"}),
    description="MM-Vet: a judge's grade by capability (scale as published)",
    citation="arXiv 2308.02490",
    licence="CC BY-NC 4.0",
    data_hint="MMVet.tsv with index, image, question, answer (<AND>, <OR>), category (capabilities)",
)
core_mm = mmvet.but(
    name="core_mm",
    dataset=DataSource(local=("CORE_MM.tsv",), mini=MINI, read=Table()),
    scorers=({"name": "judge", "template": "reference", "scale": "1-5"},),
    summarizers=("mean",),
    protocol="core_mm@judge-1-5",
    description="CORE-MM: several images, a judge's rating (format-checked)",
    citation="arXiv 2311.11567",
    licence="CC BY-NC 4.0",
    data_hint="CORE_MM.tsv with index, image (a list literal for several), question, answer, category, complexity",
)


def complexity_of(row: Mapping[str, Any]) -> Mapping[str, str]:
    """How hard the question is said to be: what CORE-MM's score weighs it by."""
    complexity = str(row.get("complexity") or "").strip()
    return {"complexity": complexity} if complexity else {}


core_mm_official = core_mm.but(
    name="core_mm_official",
    dataset=DataSource(
        local=("CORE_MM.tsv",), mini=MINI, read=Table(tags=complexity_of)
    ),
    scorers=(MmVet(),),
    summarizers=("core_mm",),
    protocol="core_mm@official",
    description="CORE-MM by its paper: grades of 0 to 1, highly complex questions twice (format-checked)",
)
