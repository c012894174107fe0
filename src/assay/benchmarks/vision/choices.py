"""Images with lettered options, each row judged by itself: SEED-Bench, MMStar, AI2D, ScienceQA, RealWorldQA, MMMU.

One row: `{"index": 7, "image": "iVBORw0…", "question": "How many stars are there?", "hint": "", "A": "two",
"B": "three", "answer": "B", "category": "counting", "l2-category": "math", "split": "val"}`. MMMU has several images
in a list literal and says `<image 2>` where one belongs; MathVista has its options as a list in `choices`, the letter
in `answer_option`, and the whole prompt in `question` (`query` on the hub).

Citations: SEED-Bench arXiv 2307.16125; MMStar arXiv 2403.20330; AI2D arXiv 1603.07396; ScienceQA arXiv 2209.09513;
RealWorldQA xAI 2024; MMMU arXiv 2311.16502; MathVista arXiv 2310.02255.

Protocol: VLMEvalKit's prompt, greedy decoding, answers read by rules alone; no answer is ever drawn at random. MMMU's
open questions are asked and scored by the official rule; `mmmu` is the validation split, `mmmu_dev` the development
split. MathVista asks all its questions, as published where the text has its own hint, and normalizes answers as the
official script does.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import (
    DataSource,
    GenerateOptions,
    Message,
    Part,
    Prompt,
    Sample,
    Task,
    TemplateError,
    Text,
)
from ...datasets.choices import LETTERS
from ...datasets.tsv_images import is_blank
from ...templates import Question
from ...templates.built import turn
from ...templates.plain import question_text
from .circular import HINT, SELECT
from .tables import RowOf, Table, answer_of, options_of, tag_of

MINI = "benchmarks/data/vision/choices.tsv"
LETTER = Question(instruction="Answer with the letter of the correct option only.")
_MARKER = re.compile(r"<image (\d+)>")


@dataclass(frozen=True)
class Interleaved:
    """The question with its options, each image where the text says `<image 1>`; the others before the text."""

    def __call__(self, sample: Sample) -> Prompt:
        # An open question is asked as it stands.
        text = (
            SELECT(sample).messages[-1].text
            if sample.choices
            else question_text(sample)
        )
        pieces = _MARKER.split(text)
        placed = {int(number) for number in pieces[1::2]}
        if placed and max(placed) > len(sample.media):
            raise TemplateError(
                f"the question shows <image {max(placed)}> of {len(sample.media)} images",
                where=f"sample {sample.id!r}",
            )
        parts: list[Part] = [
            m for number, m in enumerate(sample.media, 1) if number not in placed
        ]  # type: ignore[misc]
        for place, piece in enumerate(pieces):
            if place % 2:
                parts.append(sample.media[int(piece) - 1])  # type: ignore[arg-type]
            elif piece.strip():
                parts.append(Text(piece))
        return Prompt((Message("user", tuple(parts)),))


def of_split(*names: str) -> Callable[[RowOf], Sequence[RowOf]]:
    """Leaves the rows of one split; a table that names none is taken whole."""

    def rows(row: RowOf) -> Sequence[RowOf]:
        return (
            [row]
            if is_blank(row.get("split")) or str(row["split"]).lower() in names
            else []
        )

    return rows


def as_asked(row: RowOf) -> Sequence[RowOf]:
    """The row; a free-form question has no options, whatever stands in their columns."""
    if row.get("question_type") != "free_form":
        return [row]
    return [
        {name: cell for name, cell in row.items() if name not in (*LETTERS, "choices")}
    ]


def wanted(row: RowOf) -> Any:
    """The letter of an option, or the answer as it is written: `[20, 30]` is one answer, not two."""
    options = options_of(row)
    return (
        answer_of(row, options)
        if options
        else None
        if is_blank(row.get("answer"))
        else str(row["answer"])
    )


FORMS = {
    "integer": "End with the answer as an integer.",
    "float": "End with the answer as a number with {places} decimal places.",
    "list": "End with the answer as a list of numbers, as [1, 2].",
}


def published_or_ours(sample: Sample) -> Prompt:
    """MathVista's own text where it has its hint; else the question with its options, or the form of its answer."""
    text = question_text(sample)
    if "hint:" in text.lower():
        return Prompt((turn("user", sample, text),))
    if sample.choices:
        return SELECT(sample)
    form = FORMS.get(
        str(sample.fields.get("answer_type")),
        "End with the answer in a word or a phrase.",
    )
    places = int(float(str(sample.fields.get("precision") or 2)))
    return Prompt(
        (turn("user", sample, f"{text}\n{form.replace('{places}', str(places))}"),)
    )


def select_or_ask(sample: Sample) -> Prompt:
    """The options below the question; a question that has them in its own text, as on the hub, as it is."""
    return SELECT(sample) if sample.choices else LETTER(sample)


def _task(name: str, file: str, what: str, citation: str, licence: str) -> Task:
    return Task(
        name=name,
        dataset=DataSource(
            local=(f"{file}.tsv",), mini=MINI, read=Table(options="all")
        ),
        template=SELECT,
        scorers=("choice",),
        options=GenerateOptions(temperature=0.0, max_tokens=64),
        protocol=f"{name}@choice",
        needs=frozenset({"image"}),
        description=f"{what} (prompt as published)",
        citation=citation,
        licence=licence,
        data_hint=f"{file}.tsv: {HINT}",
    )


seedbench_img = _task(
    "seedbench_img",
    "SEEDBench_IMG",
    "SEED-Bench, images",
    "arXiv 2307.16125",
    "CC BY-NC 4.0",
)
ai2d = _task(
    "ai2d",
    "AI2D_TEST",
    "AI2D, diagrams of school science",
    "arXiv 1603.07396",
    "CC BY-SA 4.0",
)
scienceqa = _task(
    "scienceqa",
    "ScienceQA_TEST",
    "ScienceQA with images",
    "arXiv 2209.09513",
    "CC BY-NC-SA 4.0",
)
realworldqa = _task(
    "realworldqa", "RealWorldQA", "RealWorldQA, photographs", "xAI 2024", "CC BY-ND 4.0"
)
_mmstar = _task(
    "mmstar", "MMStar", "MMStar, needs the image", "arXiv 2403.20330", "research use"
)
_mmmu = _task(
    "mmmu", "MMMU_DEV_VAL", "MMMU, college subjects", "arXiv 2311.16502", "Apache-2.0"
)
_mathvista = _task(
    "mathvista", "MathVista_MINI", "MathVista mini", "arXiv 2310.02255", "CC BY-SA 4.0"
)


def _mmmu_split(*names: str) -> DataSource:
    return DataSource(
        local=("MMMU_DEV_VAL.tsv",),
        mini="benchmarks/data/vision/mmmu.tsv",
        read=Table(options="some", reshape=of_split(*names)),
    )


mmmu = _mmmu.but(
    dataset=_mmmu_split("validation", "val"),
    template=Interleaved(),
    scorers=("mmmu",),
    protocol="mmmu@val",
    description="MMMU validation: options and open questions (rule as published)",
)
mmmu_dev = mmmu.but(
    name="mmmu_dev",
    dataset=_mmmu_split("dev"),
    protocol="mmmu@dev",
    description="MMMU development split: options and open questions (rule as published)",
)
mmstar = _mmstar.but(
    dataset=DataSource(
        hub="Lin-Chen/MMStar",
        split="val",
        local=("MMStar.tsv",),
        mini=MINI,
        read=Table(options="some"),
    ),
    template=select_or_ask,
    scorers=({"name": "choice", "letters": "ABCD"},),
)
mathvista_mini = _mathvista.but(
    name="mathvista_mini",
    dataset=DataSource(
        hub="AI4Math/MathVista",
        split="testmini",
        local=("MathVista_MINI.tsv",),
        mini="benchmarks/data/vision/mathvista.tsv",
        read=Table(
            options="some",
            reshape=as_asked,
            target=wanted,
            tags=tag_of("task", "question_type"),
            aliases={"index": "pid", "question": "query", "image": "decoded_image"},
        ),
    ),
    template=published_or_ours,
    scorers=("mathvista",),
    options=GenerateOptions(temperature=0.0, max_tokens=1024),
    protocol="mathvista_mini@rules",
    description="MathVista testmini: options, numbers and lists (normalized as published)",
    data_hint="MathVista_MINI.tsv with index, image, question, choices, answer, answer_option, question_type, "
    "answer_type, precision",
)
