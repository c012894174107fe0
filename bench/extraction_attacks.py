"""Attacks on the reading of a letter: families of phrasings, with the letter that stands in each, or none.

`tests/scorers/choice/corpus/attacks.jsonl` has a phrasing a line. `{X}` is the letter an answer takes, `{tx}` its text,
`{Y}` and `{Z}` are other options; `takes` says whether an option is taken at all, `is_cut` whether the answer ran into
the token limit. `half` says what it was for: the rules were written with `tune` in view and first judged on `report`;
the rounds `second` to `seventh` came later, each written before the rules were run on it. Of the fifth round one part
was tried at once and `fifth-held` only when the rules were rewritten. `words` was written with the rules in view: the
usual words of 21 languages. Every phrasing meets every set of options with
six choices of letters.

`answers.jsonl.gz` beside it has rounds `eighth` to `seventeenth`, of answers that each have options of their own.
They were written by somebody who did not know the rules.
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PHRASINGS = (
    Path(__file__).resolve().parents[1]
    / "tests"
    / "scorers"
    / "choice"
    / "corpus"
    / "attacks.jsonl"
)
ANSWERS = PHRASINGS.with_name("answers.jsonl.gz")
LETTERS = "ABCDEFGHIJ"
OPTION_SETS: tuple[tuple[str, ...], ...] = (
    ("cat", "dog", "bird", "fish"),
    ("Paris", "Rome", "Berlin", "Madrid"),
    ("12", "15", "18", "21"),
    ("北京", "上海", "广州", "深圳"),
    ("increases", "decreases", "stays the same", "cannot be known"),
    ("5 m/s", "10 m/s", "15 m/s", "20 m/s", "25 m/s"),
    ("the king", "the queen", "a bishop", "two rooks"),
    ("x + 1", "2x", "x^2 - 1", "3x + 4"),
    (
        "hydrogen",
        "helium",
        "lithium",
        "beryllium",
        "boron",
        "carbon",
        "nitrogen",
        "oxygen",
        "fluorine",
        "neon",
    ),
    (
        "It rises slowly over time",
        "It falls at once",
        "It oscillates about the mean",
        "It vanishes in the limit",
    ),
)
PLACES = ((0, 1, 2), (1, 0, 3), (2, 3, 0), (3, 1, 0), (1, 2, 0), (0, 3, 1))


@dataclass(frozen=True, slots=True)
class Attack:
    """One hostile answer: its text, the options, and the letter it takes, if it takes one."""

    family: str
    half: str
    template: str
    text: str
    options: dict[str, str]
    expected: str | None
    is_cut: bool


def attacks(*halves: str) -> Iterator[Attack]:
    """Return the attacks of some halves, or all."""
    for line in PHRASINGS.read_text("utf-8").split("\n"):
        row = json.loads(line) if line else {"half": None}
        if not line or (halves and row["half"] not in halves):
            continue
        for texts in OPTION_SETS:
            options = dict(zip(LETTERS, texts, strict=False))
            for places in PLACES:
                # Of ten options the later ones are named, I among them.
                x, y, z = (
                    LETTERS[place + (6 if len(texts) == len(LETTERS) else 0)]
                    for place in places
                )
                names = {
                    "X": x,
                    "Y": y,
                    "Z": z,
                    "x": x.lower(),
                    "F": chr(ord(x) + 0xFEE0),
                    "tx": options[x],
                }
                names |= {
                    "ty": options[y],
                    "tz": options[z],
                    "ta": texts[0],
                    "tb": texts[1],
                    "tc": texts[2],
                }
                text = row["template"].format(**names)
                takes, is_cut = x if row["takes"] else None, row.get("is_cut", False)
                yield Attack(
                    row["family"],
                    row["half"],
                    row["template"],
                    text,
                    options,
                    takes,
                    is_cut,
                )


def answers() -> Iterator[Attack]:
    """Return the attacks that are whole answers."""
    with gzip.open(ANSWERS, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            expected, is_cut = row["expected"], row["truncated"]
            yield Attack(
                row["family"],
                row["half"],
                "",
                row["answer"],
                row["choices"],
                expected,
                is_cut,
            )
