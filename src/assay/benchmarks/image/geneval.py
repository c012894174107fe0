"""GenEval: objects, their number, colour and place, in four images for each prompt.

One row: `{"tag": "counting", "include": [{"class": "clock", "count": 2}], "exclude": [{"class": "clock", "count": 3}],
"prompt": "a photo of two clocks"}`, as in `evaluation_metadata.jsonl`; tables may have that object in `metadata`.

Citation: arXiv 2310.11513.

Protocols: `geneval@detector` shows each image to the model under the role `detector` (`--judge detector=MODEL`),
which is told the classes as `{"classes": […]}`, with `"colors": true` where colours matter, and answers with JSON
`{"detections": {class: [[x1, y1, x2, y2, score], …]}}`, with colours as `{"box": …, "score": …, "color": …}`.
`geneval@saved` reads the same from a column `detections`. Thresholds and geometry are the official ones; the value is
the mean of the six tasks' means. Numbers belong to one detector: the published ones to Mask2Former with CLIP ViT-L/14
for colours.
"""

import json
from typing import Any

from ...core import DataSource, Sample, Task
from ...scorers.asked import Asked
from ...scorers.image.geneval import GenEval, metadata_of
from ...summarizers.weighted import GroupMean
from ...templates import Question
from ..vision.tables import tag_of
from .rows import FREE, prompts

FILES = ("GenEval.tsv", "geneval/evaluation_metadata.jsonl")


def classes_to_find(sample: Sample) -> str:
    """What the detector is told: the classes that the prompt is about, and whether their colours matter, as JSON."""
    wanted = metadata_of(sample) or {}
    clauses = [*(wanted.get("include") or ()), *(wanted.get("exclude") or ())]
    request: dict[str, Any] = {
        "classes": sorted({str(clause["class"]) for clause in clauses})
    }
    if any(clause.get("color") for clause in clauses):
        request["colors"] = True
    return json.dumps(request, ensure_ascii=False)


geneval = Task(
    name="geneval",
    dataset=DataSource(
        local=FILES,
        mini="benchmarks/data/image/geneval.jsonl",
        read=prompts(tag_of("tag")),
    ),
    template=Question(),
    scorers=(
        Asked("detector", "detections", GenEval(), classes_to_find, name="geneval"),
    ),
    summarizers=(GroupMean("tag"), "mean"),
    options=FREE.set(n=4),
    produces=("image",),
    protocol="geneval@detector",
    description="GenEval: objects by a detector, mean of six tasks (arithmetic as published)",
    citation="arXiv 2310.11513",
    licence="MIT",
    data_hint="evaluation_metadata.jsonl, or GenEval.tsv with prompt, tag, include, exclude",
)
geneval_saved = geneval.but(
    name="geneval_saved",
    dataset=DataSource(
        local=("geneval_saved.jsonl",),
        mini="benchmarks/data/image/geneval_saved.jsonl",
        read=prompts(tag_of("tag")),
    ),
    scorers=("geneval",),
    options=FREE,
    protocol="geneval@saved",
    description="GenEval from saved detections (arithmetic as published)",
    data_hint="geneval_saved.jsonl: rows of evaluation_metadata.jsonl with a column `detections`",
)
