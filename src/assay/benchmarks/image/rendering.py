"""Text in images: is what the prompt wants written to be read there?

One row: `{"index": "3", "prompt": "A sign that says OPEN DAILY", "text": "OPEN DAILY"}`; lines of several lines are set
apart by line ends.

Citation: TextDiffuser (MARIO-Eval) arXiv 2305.10855, for the measure.

Protocol: the recogniser under the role `ocr` (`--judge ocr=MODEL`) reads the image; `word_accuracy`, `ned` and
`line_match` compare, case aside. Its errors are in the number: numbers compare only under one recogniser.
"""

from ...core import DataSource, Task
from ...datasets.tsv_images import is_blank
from ...scorers.asked import Asked
from ...scorers.image.ocr_text import OcrText
from ...templates import Question
from ..vision.tables import RowOf, Table
from .rows import PROMPTS


def wanted_text(row: RowOf) -> str | None:
    """The text that should stand in the image."""
    return None if is_blank(row.get("text")) else str(row["text"])


text_rendering = Task(
    name="text_rendering",
    dataset=DataSource(
        local=("text_rendering.jsonl", "text_rendering.tsv"),
        mini="benchmarks/data/image/rendering.jsonl",
        read=Table(shows_images=False, target=wanted_text, aliases=PROMPTS),
    ),
    template=Question(),
    scorers=(Asked("ocr", "recognised", OcrText(), name="ocr_text", wants="lines"),),
    produces=("image",),
    protocol="text_rendering@ocr",
    description="Text in images, read by a recogniser (format-checked)",
    citation="arXiv 2305.10855",
    licence="that of the prompts",
    data_hint="text_rendering.jsonl with index, prompt, text",
)
