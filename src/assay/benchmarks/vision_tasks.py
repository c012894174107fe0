"""Vision-language benchmarks: the Python parts of the tasks in `data/tasks/vision.toml`.

Each part is a prompt, a reader of rows or a scorer that is named in a row of that file.
The file describes the rows, citations and protocols of every benchmark.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import (
    Message,
    Outcome,
    Output,
    Part,
    Prompt,
    Sample,
    Score,
    Task,
    TemplateError,
    Text,
    as_part,
)
from ..datasets.choices import LETTERS
from ..datasets.faults import RowFault
from ..datasets.tsv_images import is_blank
from ..scorers.choice.choice_rules import extract_choice
from ..scorers.vision.boxes import as_box
from ..templates import Choices, Question
from ..templates.built import turn
from ..templates.plain import question_text
from .task_rows import read_tasks
from .vision_rows import RowOf, answer_of, image_of, options_of, whole_number

ROTATION = 1_000_000
SELECT = Choices(
    layout="options_block",
    question_prefix="Question: ",
    hint="hint",
    instruction="Please select the correct answer from the options above.",
)


def question_group(row: Mapping[str, Any]) -> str | None:
    """Return a question's id, which all rotations of its options share."""
    if row.get("g_index") not in (None, ""):
        return str(row["g_index"])
    index = whole_number(row.get("index"))
    if index is None:
        return None
    return str(index % ROTATION)


def first_rotation(row: Mapping[str, Any]) -> str | None:
    """Return the index of the unrotated row, whose image is used for rotated rows without an image."""
    index = whole_number(row.get("index"))
    if index is not None and index >= ROTATION:
        return str(index % ROTATION)
    return None


def option_read(sample: Sample, output: Output) -> Score:
    """Score 1 if an option can be extracted from the answer. Used when the right answers are not public."""
    choice = extract_choice(
        output.text, dict(zip(LETTERS, sample.choices, strict=False))
    )
    if choice.answer:
        outcome = Outcome.SCORED
    else:
        outcome = Outcome(choice.outcome)
    return Score(
        float(choice.answer is not None),
        outcome,
        answer=choice.answer,
        details={"rule": choice.rule},
    )


ASK_FOR_LETTER = Question(
    instruction="Answer with the letter of the correct option only."
)
_IMAGE_MARKER = re.compile(r"<image (\d+)>")


@dataclass(frozen=True)
class Interleaved:
    """A prompt template that inserts each image at its marker in the question (`<image
    1>`).

    Images without a marker come before the text.
    """

    def __call__(self, sample: Sample) -> Prompt:
        # A question without options is sent unchanged.
        if sample.choices:
            text = SELECT(sample).messages[-1].text
        else:
            text = question_text(sample)
        pieces = _IMAGE_MARKER.split(text)
        placed = {int(number) for number in pieces[1::2]}
        if placed and max(placed) > len(sample.media):
            raise TemplateError(
                f"the question shows <image {max(placed)}> of {len(sample.media)} images",
                where=f"sample {sample.id!r}",
            )
        parts: list[Part] = []
        for number, medium in enumerate(sample.media, 1):
            if number not in placed:
                parts.append(as_part(medium))
        for index, piece in enumerate(pieces):
            if index % 2:
                parts.append(sample.media[int(piece) - 1])  # type: ignore[arg-type]
            elif piece.strip():
                parts.append(Text(piece))
        return Prompt((Message("user", tuple(parts)),))


def of_split(*names: str) -> Callable[[RowOf], Sequence[RowOf]]:
    """Return a filter for the rows of one split. All rows of a table without a split column are used."""

    def rows(row: RowOf) -> Sequence[RowOf]:
        if is_blank(row.get("split")) or str(row["split"]).lower() in names:
            return [row]
        return []

    return rows


def as_asked(row: RowOf) -> Sequence[RowOf]:
    """Return the row. For a free-form question, remove the options."""
    if row.get("question_type") != "free_form":
        return [row]
    return [
        {name: cell for name, cell in row.items() if name not in (*LETTERS, "choices")}
    ]


def letter_or_text(row: RowOf) -> object:
    """Return the letter of an option, or the answer unchanged: `[20, 30]` is one answer, not two."""
    options = options_of(row)
    if options:
        return answer_of(row, options)
    if is_blank(row.get("answer")):
        return None
    return str(row["answer"])


ANSWER_FORMS = {
    "integer": "End with the answer as an integer.",
    "float": "End with the answer as a number with {places} decimal places.",
    "list": "End with the answer as a list of numbers, as [1, 2].",
}


def published_or_ours(sample: Sample) -> Prompt:
    """Return MathVista's published prompt if the row contains one.

    Otherwise return the question with its options or with the required answer format.
    """
    text = question_text(sample)
    if "hint:" in text.lower():
        return Prompt((turn("user", sample, text),))
    if sample.choices:
        return SELECT(sample)
    form = ANSWER_FORMS.get(
        str(sample.fields.get("answer_type")),
        "End with the answer in a word or a phrase.",
    )
    places = int(float(str(sample.fields.get("precision") or 2)))
    return Prompt(
        (turn("user", sample, f"{text}\n{form.replace('{places}', str(places))}"),)
    )


def select_or_ask(sample: Sample) -> Prompt:
    """Return the question with its options. If its text already contains them, as on the hub, they are not added."""
    if sample.choices:
        return SELECT(sample)
    return ASK_FOR_LETTER(sample)


ANNOTATORS = 10


def short_answer(sample: Sample) -> Prompt:
    """Return a prompt with the image, the question, and the request for a word or phrase."""
    text = (
        f"{question_text(sample)}\nAnswer the question using a single word or phrase."
    )
    return Prompt((turn("user", sample, text),))


def annotators(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return one answer per annotator."""
    listed = row.get("answers")
    if isinstance(listed, (list, tuple)) and listed:
        return tuple(
            str(entry["answer"] if isinstance(entry, Mapping) else entry)
            for entry in listed
        )
    answer = answer_of(row)
    if answer is None:
        raise RowFault(
            "the row has no answers",
            column="answer",
            fix="write ['red', 'red', …], ten of them",
        )
    if isinstance(answer, tuple):
        return answer
    return (str(answer),)


def one_for_ten(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the answers of all ten annotators. If the row has a single answer, repeat it ten times."""
    answers = annotators(row)
    if len(answers) == 1:
        return answers * ANNOTATORS
    return answers


def complexity_of(row: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the complexity of the question as a tag. CORE-MM's score weights questions by it."""
    complexity = str(row.get("complexity") or "").strip()
    return {"complexity": complexity} if complexity else {}


ASK_FOR_BOX = (
    "Give the box of the region this phrase describes as [left, top, right, bottom], each a number between 0 and 1, "
    "measured in shares of the width and the height of the picture: "
)


def ask_for_box(sample: Sample) -> Prompt:
    """Return a prompt with the image and the request for a box."""
    return Prompt((turn("user", sample, f"{ASK_FOR_BOX}{question_text(sample)}"),))


def box_of(row: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the right box of the row. Raise if it is not four numbers."""
    box = as_box(row.get("bbox"))
    if box is None:
        fix = "write [left, top, width, height]"
        raise RowFault(
            "no box of four numbers",
            column="bbox",
            got=row.get("bbox"),
            fix=fix,
        )
    return box


MEME_LABELS = {
    "0": "no",
    "1": "yes",
    "not-hateful": "no",
    "hateful": "yes",
    "no": "no",
    "yes": "yes",
}


def verdict_of(row: Mapping[str, Any]) -> str | None:
    """Return the label as yes or no; None for the challenge's test files, which have no labels."""
    label = row.get("label", row.get("answer"))
    if label in (None, ""):
        return None
    answer = MEME_LABELS.get(str(label).strip().lower())
    if answer is None:
        raise RowFault(
            "neither hateful nor not",
            column="label",
            got=label,
            fix="0 or 1",
        )
    return answer


def ask_about_meme(sample: Sample) -> Prompt:
    """Return a prompt with the image, the words on it, and the question."""
    words = " ".join(str(sample.fields.get("text") or "").split())
    caption = f'The meme says: "{words}"\n' if words else ""
    parts: tuple[Part, ...] = (*sample.media, Text(f"{caption}{sample.input}"))  # type: ignore[arg-type]
    return Prompt((Message("user", parts),))


INDEX_PARTS = {"set_id": 3, "figure_id": 4, "question_id": 5}


def pair_of(row: Mapping[str, Any]) -> str | None:
    """Return a key that the two questions about an image share.

    The key is the category and the image's path. If the path is unknown, it is the
    lower row index of the pair.
    """
    image = image_of(row)
    if image:
        return f"{row.get('category', '')}/{image}"
    index = whole_number(row.get("index"))
    if index is None:
        return None
    return str(index - index % 2)


def first_of_pair(row: Mapping[str, Any]) -> str | None:
    """Return the index of the first question of a pair, whose image the second question uses."""
    index = whole_number(row.get("index"))
    if index is not None and index % 2:
        return str(index - 1)
    return None


def by_category(row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return a copy of the row for each of its categories, so that it is included in all of them."""
    categories = [
        name.strip()
        for name in str(row.get("category") or "").split(",")
        if name.strip()
    ]
    if len(categories) < 2:
        return [row]
    return [
        {**row, "index": f"{row['index']}:{name}", "category": name}
        for name in categories
    ]


def places_of(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the tags of a HallusionBench row: its set, figure, question and subcategory."""
    parts = str(row.get("index")).split("_")
    ids = {}
    for name, index in INDEX_PARTS.items():
        if not is_blank(row.get(name)):
            ids[name] = str(row[name])
        elif len(parts) > index:
            ids[name] = parts[index]
        else:
            raise RowFault(
                f"no {name}",
                column="index",
                got=row.get("index"),
                fix=f"give a column {name}",
            )
    return {
        **ids,
        "l2-category": str(row.get("l2-category") or row.get("subcategory") or ""),
    }


TASKS = read_tasks("vision.toml", __name__)


def __getattr__(name: str) -> Task:
    """Return the task called `name`, so that the tasks in the TOML file are attributes of this module."""
    if name in TASKS:
        return TASKS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
