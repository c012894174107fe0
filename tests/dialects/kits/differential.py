"""Cases that run twice: once through upstream's own code, whose results are kept as fixtures, once through ours.

A file of cases is plain user code: it imports upstream's names inside its functions. The tools that make fixtures run
it in a checkout, the tests run it with the dialect's names. Standard library, pandas and Pillow only.
"""

import hashlib
import json
import math
import os
import warnings
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any


class Cases(dict[str, Callable[[], Any]]):
    """Functions by name; each is run in an empty folder with an `$LMUData` of its own."""

    def add(
        self, name: str, *inputs: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Registers a function under a name; with inputs once for each of them."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            if not inputs:
                self[name] = function
            for number, given in enumerate(inputs):
                self[f"{name}.{number:02d}"] = lambda given=given: function(given)
            return function

        return register


def run_case(function: Callable[[], Any], folder: Path) -> Any:
    """What a case gives, as plain data; of an exception only that there was one."""
    data = folder / "LMUData"
    data.mkdir(parents=True, exist_ok=True)
    before, environment = os.getcwd(), dict(os.environ)
    os.chdir(folder)
    os.environ.update({"LMUData": str(data), "HOME": str(folder)})
    try:
        with (
            warnings.catch_warnings(),
            redirect_stdout(StringIO()),
            redirect_stderr(StringIO()),
        ):
            warnings.simplefilter("ignore")
            found = function()
            plain = as_plain(found)
    except Exception:
        plain = {"error": True}
        if os.environ.get("SHOW_ERRORS"):
            raise
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)
    text = json.dumps(plain, ensure_ascii=False).replace(
        str(folder.resolve()), "<folder>"
    )
    return json.loads(text.replace(str(folder), "<folder>"))


def as_plain(value: Any) -> Any:
    """A value as JSON has it: tables with their columns in order, pictures by their pixels, numbers without numpy."""
    if hasattr(value, "columns") and hasattr(value, "itertuples"):
        rows = [
            [as_plain(cell) for cell in row]
            for row in value.itertuples(index=False, name=None)
        ]
        return {"columns": [as_plain(name) for name in value.columns], "rows": rows}
    if hasattr(value, "to_dict") and hasattr(value, "iloc"):
        return {"series": {str(name): as_plain(cell) for name, cell in value.items()}}
    if hasattr(value, "tobytes") and hasattr(value, "getpixel"):
        return {
            "picture": [
                value.mode,
                *value.size,
                hashlib.md5(value.tobytes()).hexdigest(),
            ]
        }
    if isinstance(value, Mapping):
        return {str(as_plain(name)): as_plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(inner) for inner in value]
    if isinstance(value, (set, frozenset)):
        return sorted((as_plain(inner) for inner in value), key=str)
    if hasattr(value, "tolist"):
        return as_plain(value.tolist())
    if isinstance(value, bool) or value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return (
            "NaN"
            if math.isnan(value)
            else int(value)
            if value.is_integer()
            else round(value, 9)
        )
    if isinstance(value, Path):
        return str(value)
    return {"type": type(value).__name__}
