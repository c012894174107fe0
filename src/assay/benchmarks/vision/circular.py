"""MMBench and CCBench: multiple choice in which a question counts only if it is right under every rotation of options.

One row: `{"index": 1000241, "image": "241", "question": "Which one is round?", "hint": "", "A": "the ball",
"B": "the box", "answer": "A", "category": "physical_property", "l2-category": "attribute_reasoning", "split": "dev"}`.
The copy of question i with its options rotated k times has the index i + k * 1,000,000, and the image of row i.
V11 files say the question in `g_index`.

Citation: Liu et al. 2023, MMBench: Is Your Multi-modal Model an All-around Player?, arXiv 2307.06281. Licence:
Apache-2.0.

Protocol: VLMEvalKit's prompt, greedy decoding, answers read by rules alone (no judge): `choice.circular` is the share
of questions all of whose rotations are right, `choice` the share of rows. A question that lacks a rotation is
unresolved and flagged, never judged by fewer. Test files have no answers: there the number
is the share of rows from which an option could be read, and `assay export` gives the letters to hand in.
"""

from collections.abc import Mapping
from typing import Any

from ...core import DataSource, GenerateOptions, Outcome, Output, Sample, Score, Task
from ...scorers.choice.choice import LETTERS
from ...scorers.choice.choice_rules import extract_choice
from ...templates import Choices
from .tables import Table, whole_number

ROTATION = 1_000_000
SELECT = Choices(
    layout="options_block",
    question_prefix="Question: ",
    hint="hint",
    instruction="Please select the correct answer from the options above.",
)
HINT = "a TSV with index, image, question, hint, A, B, …, answer, category, l2-category, split"


def question_group(row: Mapping[str, Any]) -> str | None:
    """The question a row is a rotation of."""
    if row.get("g_index") not in (None, ""):
        return str(row["g_index"])
    index = whole_number(row.get("index"))
    return None if index is None else str(index % ROTATION)


def first_rotation(row: Mapping[str, Any]) -> str | None:
    """The row whose image a rotated row without one shows."""
    index = whole_number(row.get("index"))
    return str(index % ROTATION) if index is not None and index >= ROTATION else None


def option_read(sample: Sample, output: Output) -> Score:
    """1 if the answer takes one of the options, right or wrong: for questions whose answers are not public."""
    found = extract_choice(
        output.text, dict(zip(LETTERS, sample.choices, strict=False))
    )
    outcome = Outcome.SCORED if found.answer else Outcome(found.outcome)
    return Score(
        float(found.answer is not None),
        outcome,
        answer=found.answer,
        details={"rule": found.rule},
    )


def _task(name: str, file: str, what: str) -> Task:
    return Task(
        name=name,
        dataset=DataSource(
            local=(f"{file}.tsv",),
            mini="benchmarks/data/vision/circular.tsv",
            read=Table(
                options="all",
                group=question_group,
                cluster=question_group,
                lender=first_rotation,
            ),
        ),
        template=SELECT,
        scorers=("choice",),
        summarizers=(
            {"name": "grouped", "label": "circular", "expected_size": "options"},
        ),
        options=GenerateOptions(temperature=0.0, max_tokens=64),
        protocol=f"{name}@circular",
        needs=frozenset({"image"}),
        description=f"{what}, right under every rotation (as published)",
        citation="arXiv 2307.06281",
        licence="Apache-2.0",
        data_hint=f"{file}.tsv: {HINT}",
    )


def _submission(task: Task, what: str) -> Task:
    return task.but(
        scorers=(option_read,),
        summarizers=("mean",),
        protocol=f"{task.name}@submission",
        description=f"{what}, letters to hand in (prompt as published)",
    )


mmbench_dev_en = _task("mmbench_dev_en", "MMBench_DEV_EN", "MMBench dev, English")
mmbench_dev_cn = _task("mmbench_dev_cn", "MMBench_DEV_CN", "MMBench dev, Chinese")
mmbench_dev_en_v11 = _task(
    "mmbench_dev_en_v11", "MMBench_DEV_EN_V11", "MMBench 1.1 dev, English"
)
mmbench_dev_cn_v11 = _task(
    "mmbench_dev_cn_v11", "MMBench_DEV_CN_V11", "MMBench 1.1 dev, Chinese"
)
mmbench_test_en = _submission(
    _task("mmbench_test_en", "MMBench_TEST_EN", ""), "MMBench test, English"
)
mmbench_test_cn = _submission(
    _task("mmbench_test_cn", "MMBench_TEST_CN", ""), "MMBench test, Chinese"
)
mmbench_test_en_v11 = _submission(
    _task("mmbench_test_en_v11", "MMBench_TEST_EN_V11", ""), "MMBench 1.1 test, English"
)
mmbench_test_cn_v11 = _submission(
    _task("mmbench_test_cn_v11", "MMBench_TEST_CN_V11", ""), "MMBench 1.1 test, Chinese"
)
ccbench = _task("ccbench", "CCBench", "CCBench, Chinese culture")
