"""Saved replies of specialists: detections, similarities, yes/no answers, recognised text.

A reply is the output's own JSON, an entry of the output's details, or a column of the row. Scoring can therefore
follow detection on another machine, with only the saved answers between them.
"""

import json
from collections.abc import Mapping
from typing import Any

from ..core import Output, Sample


def saved(sample: Sample, output: Output, name: str) -> Any:
    """Return the entry called `name` of the output's JSON, else the whole JSON, else `None`."""
    answer = output.json
    if isinstance(answer, Mapping) and name in answer:
        return answer[name]
    for source in (output.details, sample.fields):
        if source.get(name) is not None:
            return read_json(source[name])
    return answer


def read_json(value: object) -> Any:
    """Return the value of a cell: JSON in a text is parsed, any other text stays text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value
