"""Inputs of our own for everything user code sees of the testbed, and how one is put to whichever `testbed` is there.

`tools/guest_fixtures_testbed.py` runs them through upstream's own code and keeps what came out; the tests run them
through ours. `load` imports a module by the name upstream gives it, so neither side knows which of the two it drives.
"""

import hashlib
import json
import re
import warnings
from typing import Any

from testbed_families import Case, Load, repaired_template
from testbed_row_cases import (
    input_cases,
    known_names,
    loader_cases,
    most_common,
    postprocess_cases,
    registering,
    sampler_cases,
    splits,
)
from testbed_template_cases import model_cases, process_cases, template_cases
from testbed_white_box_cases import white_box_cases


def cases() -> dict[str, Case]:
    """Every case by name."""
    made: dict[str, Case] = {}
    for name, case in (
        *template_cases(),
        *model_cases(),
        *process_cases(),
        *white_box_cases(),
        *input_cases(),
        *postprocess_cases(),
        *loader_cases(),
        *sampler_cases(),
        ("register", registering),
        ("known_names", known_names),
        ("most_common_from_dict", most_common),
        ("split_generators", splits),
    ):
        assert name not in made, name
        made[name] = case
    return made


def outcome(case: Case, load: Load) -> Any:
    """What a case gives, as JSON holds it; an error is known by its kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = case(load)
        except Exception as error:
            return {"raises": type(error).__name__}
    return {"gives": json.loads(json.dumps(made, default=str))}


def digest(value: Any) -> Any:
    """A long outcome as its digest, so that files stay small."""
    text = json.dumps(value, sort_keys=True)
    return (
        value
        if len(text) < 4000
        else {"sha256": hashlib.sha256(text.encode()).hexdigest()}
    )


def repaired(name: str, value: Any) -> Any:
    """Upstream's outcome without its two misspellings: the end token of Idefics2, the second colon of Mistral."""
    if (
        not name.startswith(("template.idefics2", "template.Mistral"))
        or "gives" not in value
    ):
        return value
    made = value["gives"]
    both = (
        [_repaired(name, one) for one in made]
        if isinstance(made, list)
        else _repaired(name, made)
    )
    return {"gives": both}


def _repaired(name: str, rendered: Any) -> Any:
    if not isinstance(rendered, str):
        return rendered
    if "Mistral" in name:
        return re.sub(r"(?m)^: ", "", rendered.replace(": : ", ": ").replace("::", ":"))
    return repaired_template(name.split(".")[1], rendered)
