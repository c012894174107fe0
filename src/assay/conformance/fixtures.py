"""Fixtures: samples, outputs and official scores, with generated images and audio clips.

    {"name": "wer@jiwer", "scorer": {"name": "wer"}, "source": "jiwer", "made_by": "…: command and version",
     "tolerance": 1e-9, "cases": [{"sample": {"target": "a b"}, "output": "a c", "score": 0.5}],
     "corpus": [{"summarizer": {"name": "pooled", …}, "results": {"wer[none]": 0.5}}]}

A list as `target` means any of its entries, `{"all_of": […]}` means all. `score` is a number or named numbers.
`outcome` is given with it, or instead of it if official code gives no number. `output` is a text, `{"json": …}`,
`{"likelihoods": […]}` or `{"details": {…}}`. `corpus` has numbers over all cases. With `function` instead of `scorer`,
each case has `args` (and `options`) for a function of the package.

Images and audio clips are generated instead of stored: `{"signal": "ramp"}` names one of them. An array of numbers is
written as `{"array": […]}`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..code.userfiles import is_reference
from ..core import EMPTY, UnknownName, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

RATE = 16_000
SECONDS = 10


def _ramp() -> "Array":
    """Return a test image of 64 x 64 bytes, in which every row is 0, 4, …, 252."""
    import numpy as np

    return np.zeros((64, 1), np.uint8) + np.arange(0, 256, 4, dtype=np.uint8)


def _brighter() -> "Array":
    """Return the image of `_ramp` ten levels brighter, clipped at white."""
    import numpy as np

    return np.asarray(np.clip(_ramp().astype(int) + 10, 0, 255), np.uint8)


def _noisy(seed: int = 0) -> "Array":
    """Return the image of `_ramp` with up to 20 levels of seeded noise."""
    import numpy as np

    noise = np.random.RandomState(seed).randint(-20, 21, (64, 64))
    return np.asarray(np.clip(_ramp().astype(int) + noise, 0, 255), np.uint8)


def _tone() -> "Array":
    """Return ten seconds of a 220 Hz tone whose volume oscillates at 3 Hz."""
    import numpy as np

    time = np.arange(RATE * SECONDS) / RATE
    return (
        0.3 * np.sin(2 * np.pi * 220 * time) * (1 + 0.5 * np.sin(2 * np.pi * 3 * time))
    ).astype(np.float32)


def _noise() -> "Array":
    """Return ten seconds of seeded white noise."""
    import numpy as np

    return (np.random.RandomState(0).randn(RATE * SECONDS) * 0.05).astype(np.float32)


def _silence() -> "Array":
    """Return ten seconds of digital silence."""
    import numpy as np

    return np.zeros(RATE * SECONDS, np.float32)


SIGNALS: dict[str, Callable[[], "Array"]] = {
    "ramp": _ramp,
    "brighter": _brighter,
    "noisy": _noisy,
    **{f"noisy_{seed}": partial(_noisy, seed) for seed in range(1, 25)},
    "ramp_unit": lambda: _ramp() / 255,
    "noisy_unit": lambda: _noisy() / 255,
    "tone": _tone,
    "short_tone": lambda: _tone()[: RATE // 2],
    "noise": _noise,
    "silence": _silence,
}


def as_argument(value: object) -> object:
    """Convert an argument in a fixture to the value that the function gets.

    `{"signal": …}` becomes a generated signal, `{"array": …}` a NumPy array, and
    `{"pairs": …}` a list of tuples. Other values are returned unchanged.
    """
    if isinstance(value, Mapping) and len(value) == 1:
        if "signal" in value:
            name = str(value["signal"])
            if name not in SIGNALS:
                raise UnknownName("signal", name, SIGNALS)
            return SIGNALS[name]()
        if "array" in value:
            import numpy as np

            return np.asarray(value["array"], float)
        if "pairs" in value:
            return [tuple(pair) for pair in value["pairs"]]
    return value


FOLDER = Path(__file__).parent / "fixtures"
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Case:
    """One sample, one output, and the official result."""

    sample: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    output: Any = ""
    score: Any = None
    outcome: str | None = None
    args: Sequence[Any] = ()
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Fixture:
    """The cases of one metric under one protocol."""

    name: str
    """`scorer@protocol`, such as `vqa_accuracy@a013f00`."""
    source: str
    """The program or paper from which the official values come."""
    made_by: str
    """How the official values were produced: command and version."""
    cases: tuple[Case, ...]
    scorer: Any = None
    """A registered name, or a name with options."""
    function: str = ""
    """`module:function` inside assay, for computations that are not a scorer."""
    tolerance: float = TOLERANCE
    corpus: tuple[Mapping[str, Any], ...] = ()

    @property
    def subject(self) -> str:
        """The name of the scorer or function to check."""
        return self.name.partition("@")[0]


def fixture_names() -> list[str]:
    """Return the names of all fixtures in assay, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load_fixture(name: str) -> Fixture:
    """Load one of assay's fixtures by name, or a fixture from a JSON file."""
    if name.endswith(".json"):
        path = Path(name)
    else:
        path = FOLDER / f"{name}.json"
    try:
        return _fixture(json.loads(path.read_text(encoding="utf-8")), str(path))
    except FileNotFoundError:
        raise UsageError(
            "no such fixture",
            where=str(path),
            fix="`assay conformance` lists the shipped ones",
        ) from None
    except (ValueError, UnicodeDecodeError) as error:
        raise UsageError(f"not valid JSON: {error}", where=str(path)) from error


def select(name: str | None) -> list[Fixture]:
    """Return the fixtures that match a name: a JSON file, `scorer@protocol`, or a
    scorer with all its protocols.

    Return all fixtures if the name is None.
    """
    names = fixture_names()
    if name is None:
        return [load_fixture(fixture_name) for fixture_name in names]
    if name.endswith(".json"):
        return [load_fixture(name)]
    selected = [
        fixture_name
        for fixture_name in names
        if name in (fixture_name, fixture_name.partition("@")[0])
    ]
    if not selected:
        subjects = ", ".join(
            sorted({fixture_name.partition("@")[0] for fixture_name in names})
        )
        raise UnknownName("fixture", name, names, hint=f"known: {subjects}")
    return [load_fixture(fixture_name) for fixture_name in selected]


def _fixture(
    plain: object,
    where: str,
) -> Fixture:
    if not isinstance(plain, Mapping):
        raise UsageError("a fixture is a JSON object", where=where)
    lacking = [
        key for key in ("name", "source", "made_by", "cases") if not plain.get(key)
    ]
    if lacking:
        fix = "say whose numbers these are and how they were made"
        raise UsageError(
            f"the fixture has no {lacking[0]!r}",
            where=where,
            fix=fix,
        )
    keys = Fixture.__dataclass_fields__.keys()
    strange = [key for key in plain if key not in keys]
    if strange:
        raise UsageError(
            f"unknown key {strange[0]!r}",
            where=where,
            fix=f"known keys: {', '.join(keys)}",
        )
    if is_reference(str(plain.get("function", ""))):
        raise UsageError(
            "`function` names a function of the package",
            where=where,
            fix="assay conformance FILE.py:fn",
        )
    cases = tuple(
        _case(case, f"{where}, case {number}")
        for number, case in enumerate(plain["cases"], 1)
    )
    return Fixture(
        **{**plain, "cases": cases, "corpus": tuple(plain.get("corpus", ()))}
    )


def _case(
    plain: object,
    where: str,
) -> Case:
    if (
        not isinstance(plain, Mapping)
        or not plain.keys() <= Case.__dataclass_fields__.keys()
    ):
        raise UsageError(
            "a case has sample, output, score, outcome, args and options", where=where
        )
    if "score" not in plain and "outcome" not in plain:
        raise UsageError(
            "the case has no official score",
            where=where,
            fix='add "score" or "outcome"',
        )
    return Case(**plain)
