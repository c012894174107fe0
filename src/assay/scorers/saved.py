"""What a specialist said of an output: detections, similarities, yes/no answers, recognised text.

It is the output's own JSON, an entry of the output's details, or a column of the row: so that scoring can follow
detection on another machine, with nothing but the saved answers between them.
"""

import json
from collections.abc import Mapping
from typing import Any

from ..core import Output, Sample


def saved(sample: Sample, output: Output, name: str) -> Any:
    """The entry called `name`, or the whole JSON of the output where there is no such entry; `None` for neither."""
    answer = output.json
    if isinstance(answer, Mapping) and name in answer:
        return answer[name]
    for place in (output.details, sample.fields):
        if place.get(name) is not None:
            return read_json(place[name])
    return answer


def read_json(value: Any) -> Any:
    """A cell as a value: JSON in a text is read, any other text stays text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value
