"""Twenty good rows as files of every format, and what came out of reading them."""

import csv
import io
import json
from typing import Any

from assay.core import BadSample, Sample
from assay.datasets import open_dataset

ROWS = [
    {"id": f"q{n}", "question": f"What is {n} plus {n}?", "answer": str(2 * n)}
    for n in range(1, 21)
]
CHOICE_ROWS = [
    {
        "id": f"c{n}",
        "question": f"Which is {n}?",
        "options": [str(n), str(n + 1), str(n + 2)],
        "answer": "A",
    }
    for n in range(1, 21)
]


class Read:
    """What came out of a dataset: the good samples and the faults, one line each."""

    def __init__(self, source: Any, **options: Any) -> None:
        items = list(open_dataset(source, **options))
        self.ids = [item.id for item in items]
        self.good = [item for item in items if isinstance(item, Sample)]
        self.bad = [item for item in items if isinstance(item, BadSample)]

    @property
    def fault(self) -> str:
        (only,) = self.bad
        line = str(only.error)
        assert "\n" not in line
        return line


def json_lines(rows: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(row).encode() + b"\n" for row in rows]


def table(rows: list[dict[str, Any]], separator: str = ",") -> list[bytes]:
    text = io.StringIO()
    writer = csv.DictWriter(
        text, list(rows[0]), delimiter=separator, lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode().splitlines(keepends=True)
