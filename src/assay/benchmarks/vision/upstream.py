"""MMBench, CCBench, SEED-Bench, MME and MM-Vet as VLMEvalKit scores them: for comparing with its published numbers.

Rows and prompts are those of the tasks without `_upstream`; only the reading of answers differs. Its exact matching
first; what that cannot read goes to the judge (`--judge MODEL`, which these tasks need); what the judge does not settle
is a letter drawn by chance (seeded by the sample, so that a run can be repeated), a wrong yes or no, or a grade of 0.
In MME the judge is asked up to five times, each time warmer, while it says neither. A question that lacks a rotation is
judged by those that are there. Two numbers compare only under one judge.

Citation: Duan et al. 2024, VLMEvalKit, arXiv 2407.11691.
"""

from ...core import Task
from ...scorers.vision.vlmeval_published import (
    ChoiceVlmevalJudged,
    MmVetVlmeval,
    YesNoVlmeval,
)
from . import choices, circular, judged, yes_no


def _upstream(task: Task, scorer: object, what: str) -> Task:
    """The same task, its answers read as upstream does."""
    return task.but(
        name=f"{task.name}_upstream",
        scorers=(scorer,),
        protocol=f"{task.name}@upstream",
        description=f"{what}, read as VLMEvalKit does (as published)",
    )


def _rotated(task: Task, what: str) -> Task:
    whole = {"name": "grouped", "label": "circular"}
    return _upstream(task, ChoiceVlmevalJudged(), what).but(summarizers=(whole,))


mmbench_dev_en_upstream = _rotated(circular.mmbench_dev_en, "MMBench dev, English")
mmbench_dev_cn_upstream = _rotated(circular.mmbench_dev_cn, "MMBench dev, Chinese")
mmbench_dev_en_v11_upstream = _rotated(
    circular.mmbench_dev_en_v11, "MMBench 1.1 dev, English"
)
mmbench_dev_cn_v11_upstream = _rotated(
    circular.mmbench_dev_cn_v11, "MMBench 1.1 dev, Chinese"
)
ccbench_upstream = _rotated(circular.ccbench, "CCBench")
seedbench_img_upstream = _upstream(
    choices.seedbench_img, ChoiceVlmevalJudged(), "SEED-Bench, images"
)
mme_upstream = _upstream(yes_no.mme, YesNoVlmeval(), "MME")
mmvet_upstream = _upstream(judged.mmvet, MmVetVlmeval(), "MM-Vet")
