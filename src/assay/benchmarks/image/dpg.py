"""DPG-Bench: long prompts, taken apart into propositions that a model answers yes or no.

One row: `{"index": "7", "prompt": "A red ball lies on …", "questions": [{"proposition_id": 1, "dependency": "0",
"category_broad": "entity", "category_detailed": "whole", "question_natural_language": "Is there a ball?"}, …]}`;
`questions` may be JSON in a cell. The official `dpg_bench.csv`, a row for each proposition, is read as it is. Rows with
the prompt alone are drawn but cannot be scored.

Citation: arXiv 2403.05135.

Protocols: `dpg@vqa` shows each of four images to the model under the role `vqa` (`--judge vqa=MODEL`) with the
questions as JSON, and takes JSON `{"answers": {"1": "yes", …}}`; `dpg@saved` reads a column `answers`. A proposition
whose parent does not hold does not hold either. Beside the official mean over images stands the mean over questions.
Numbers belong to one model under `vqa`: the published ones to mPLUG-large.
"""

import json

from ...core import DataSource, Sample, Task
from ...scorers.asked import Asked
from ...scorers.image.dpg import Dpg
from ...scorers.saved import read_json
from ...templates import Question
from ..vision.tables import RowOf
from .propositions import PropositionTable
from .rows import FREE, PROMPTS, renamed


def with_prompt(row: RowOf) -> list[RowOf]:
    """ULMEvalKit's table has the prompt in `text`, as the official one has for all propositions of a prompt."""
    return renamed(prompt="text")(row) if "item_id" not in row else [row]


FILES = (
    "DPG_Bench.tsv",
    "dpg_bench.csv",
    "dpg/dpg_bench.csv",
    "dpg_bench.jsonl",
    "dpg/prompts.jsonl",
)
TABLE = PropositionTable(shows_images=False, aliases=PROMPTS, reshape=with_prompt)


def propositions(sample: Sample) -> str:
    """What the model under `vqa` is told: the questions by their ids, as JSON."""
    listed = read_json(sample.fields.get("questions"))
    questions = {
        str(one["proposition_id"]): one["question_natural_language"]
        for one in listed or ()
    }
    return json.dumps(
        {"questions": questions, "reply": "yes or no for each"}, ensure_ascii=False
    )


dpg_bench = Task(
    name="dpg_bench",
    dataset=DataSource(local=FILES, mini="benchmarks/data/image/dpg.jsonl", read=TABLE),
    template=Question(),
    scorers=(Asked("vqa", "answers", Dpg(), propositions, name="dpg"),),
    summarizers=("dpg",),
    options=FREE.set(n=4),
    produces=("image",),
    protocol="dpg@vqa",
    description="DPG-Bench: propositions by a VQA model (arithmetic as published)",
    citation="arXiv 2403.05135",
    licence="Apache 2.0",
    data_hint="dpg_bench.csv, or DPG_Bench.tsv with index, prompt, questions (JSON)",
)
dpg_bench_saved = dpg_bench.but(
    name="dpg_bench_saved",
    dataset=DataSource(
        local=("dpg_bench_saved.jsonl",),
        mini="benchmarks/data/image/dpg_saved.jsonl",
        read=TABLE,
    ),
    scorers=("dpg",),
    options=FREE,
    protocol="dpg@saved",
    description="DPG-Bench from saved answers (arithmetic as published)",
    data_hint="dpg_bench_saved.jsonl with index, prompt, questions, answers",
)
