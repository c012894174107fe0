"""Pictures with lettered options, each row judged by itself: SEED-Bench, MMStar, AI2D, ScienceQA, RealWorldQA, MMMU.

One row: `{"index": 7, "image": "iVBORw0…", "question": "How many stars are there?", "hint": "", "A": "two",
"B": "three", "answer": "B", "category": "counting", "l2-category": "math", "split": "val"}`. MMMU has several pictures
in a list literal and says `<image 2>` where one belongs; MathVista has its options as a list in `choices`, the letter
in `answer_option`, and the whole prompt in `question` (`query` on the hub).

Citations: SEED-Bench arXiv 2307.16125; MMStar arXiv 2403.20330; AI2D arXiv 1603.07396; ScienceQA arXiv 2209.09513;
RealWorldQA xAI 2024; MMMU arXiv 2311.16502; MathVista arXiv 2310.02255.

Protocol: VLMEvalKit's prompt, greedy decoding, answers read by rules alone; no answer is ever drawn at random. Of
MathVista only the questions with options are asked. Rows of MMMU without options are listed as data errors.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import DataSource, GenerateOptions, Message, Part, Prompt, Sample, Task, TemplateError, Text
from ...scorers.choice import Choice
from ...templates import Question
from .circular import HINT, SELECT
from .tables import Table

MINI = "benchmarks/data/vision/choices.tsv"
LETTER = Question(instruction="Answer with the letter of the correct option only.")
_MARKER = re.compile(r"<image (\d+)>")


@dataclass(frozen=True)
class Interleaved:
    """The question with its options, each picture where the text says `<image 1>`; the others before the text."""

    def __call__(self, sample: Sample) -> Prompt:
        text = SELECT(sample).messages[-1].text
        pieces = _MARKER.split(text)
        placed = {int(number) for number in pieces[1::2]}
        if placed and max(placed) > len(sample.media):
            raise TemplateError(
                f"the question shows <image {max(placed)}> of {len(sample.media)} pictures",
                where=f"sample {sample.id!r}",
            )
        parts: list[Part] = [m for number, m in enumerate(sample.media, 1) if number not in placed]  # type: ignore[misc]
        for place, piece in enumerate(pieces):
            if place % 2:
                parts.append(sample.media[int(piece) - 1])  # type: ignore[arg-type]
            elif piece.strip():
                parts.append(Text(piece))
        return Prompt((Message("user", tuple(parts)),))


def with_options(row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The row if it is a question with options."""
    return [row] if row.get("question_type") in (None, "", "multi_choice") else []


def select_or_ask(sample: Sample) -> Prompt:
    """The options below the question; a question that has them in its own text, as on the hub, as it is."""
    return SELECT(sample) if sample.choices else LETTER(sample)


def _task(name: str, file: str, what: str, citation: str, licence: str) -> Task:
    return Task(
        name=name,
        dataset=DataSource(local=(f"{file}.tsv",), mini=MINI, read=Table(options="all")),
        template=SELECT,
        scorers=("choice",),
        options=GenerateOptions(temperature=0.0, max_tokens=64),
        protocol=f"{name}@choice",
        needs=frozenset({"image"}),
        description=f"{what} (format-checked)",
        citation=citation,
        licence=licence,
        data_hint=f"{file}.tsv: {HINT}",
    )


seedbench_img = _task("seedbench_img", "SEEDBench_IMG", "SEED-Bench, pictures", "arXiv 2307.16125", "CC BY-NC 4.0")
ai2d = _task("ai2d", "AI2D_TEST", "AI2D, diagrams of school science", "arXiv 1603.07396", "CC BY-SA 4.0")
scienceqa = _task("scienceqa", "ScienceQA_TEST", "ScienceQA with pictures", "arXiv 2209.09513", "CC BY-NC-SA 4.0")
realworldqa = _task("realworldqa", "RealWorldQA", "RealWorldQA, photographs", "xAI 2024", "CC BY-ND 4.0")
_mmstar = _task("mmstar", "MMStar", "MMStar, needs the picture", "arXiv 2403.20330", "research use")
_mmmu = _task("mmmu", "MMMU_DEV_VAL", "MMMU, college subjects", "arXiv 2311.16502", "Apache-2.0")
_mathvista = _task("mathvista", "MathVista_MINI", "MathVista mini, with options", "arXiv 2310.02255", "CC BY-SA 4.0")

mmmu = _mmmu.but(template=Interleaved())
mmstar = _mmstar.but(
    dataset=DataSource(
        hub="Lin-Chen/MMStar", split="val", local=("MMStar.tsv",), mini=MINI, read=Table(options="some")
    ),
    template=select_or_ask,
    scorers=(Choice(letters="ABCD"),),
)
mathvista_mini = _mathvista.but(
    name="mathvista_mini",
    dataset=DataSource(
        hub="AI4Math/MathVista",
        split="testmini",
        local=("MathVista_MINI.tsv",),
        mini=MINI,
        read=Table(
            options="all",
            reshape=with_options,
            aliases={"index": "pid", "question": "query", "image": "decoded_image"},
        ),
    ),
    template=LETTER,
    protocol="mathvista_mini@choice",
)
