"""What templates see: exact plain types, whatever a row holds."""

import datetime
import decimal
import enum
import io
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from assay.core import AllOf, Audio, Image, Message, Sample, Text
from assay.rendering.text import compiled_text
from assay.rendering.values import Shown, plain_value, variables_of

NAMES = ("sample", "id", "input", "target", "choices", "letters", "cell", "other")
PLAIN = {str, int, float, bool, type(None), list, tuple, dict}

Point = namedtuple("Point", "x y")


class Word(str):
    def unlink(self) -> None:
        raise AssertionError("called")


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@dataclass
class Record:
    path: Path
    inner: Any = None


LEAVES = st.one_of(
    st.text(max_size=5), st.integers(), st.floats(allow_nan=True), st.booleans(), st.none(), st.binary(max_size=5),
    st.builds(Path, st.just("/tmp/x")), st.builds(Word, st.text(max_size=3)), st.just(Colour.RED), st.just(Level.LOW),
    st.builds(Image, st.binary(max_size=3)), st.builds(lambda: Audio(Path("a.wav"))), st.just(io.BytesIO(b"x")),
    st.just(decimal.Decimal("1.5")), st.just(datetime.date(2020, 1, 2)), st.just(open), st.just(object()),
    st.just(Path), st.just(AllOf(("a", ("b", "c")))), st.just(Text("x")),
    st.builds(lambda m: Message("user", (Text("see"), m)), st.builds(Image, st.binary(max_size=3))),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of(st.text(max_size=3), st.integers()), inner, max_size=3),
        st.dictionaries(st.text(max_size=3), inner, max_size=3).map(MappingProxyType),
        st.dictionaries(st.text(max_size=3), inner, max_size=3).map(OrderedDict),
        st.builds(Record, st.just(Path("/x")), inner), st.builds(Point, inner, inner),
    ),
    max_leaves=8,
)  # fmt: skip


def types_in(value: Any) -> set[type]:
    found = {type(value)}
    if isinstance(value, dict):
        for key, inner in value.items():
            found |= {type(key)} | types_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            found |= types_in(inner)
    return found


@given(
    cell=VALUES,
    target=VALUES,
    turns=st.lists(VALUES, max_size=2),
    media=st.lists(st.builds(Image, st.binary())),
)
def test_everything_reachable_from_a_template_is_plain(cell, target, turns, media):
    messages = (Message("user", (Text("a"), *media)), Message("assistant", None))
    sample = Sample(
        "s",
        messages,
        target,
        ("x", "y"),
        {"cell": cell},
        tuple(media),
        {"t": "u"},
        "g",
        "c",
        tuple(turns),
    )

    seen = variables_of(sample, NAMES, Shown(sample.media))

    assert types_in(seen) <= PLAIN


def test_values_that_are_plain_already_stay_what_they_are():
    row = {"a": [1, 2.5, None, True, {"b": "c"}], "d": ("x",)}

    assert plain_value(row, Shown()) == row


def test_a_row_that_holds_itself_ends():
    row: dict[str, Any] = {}
    row["self"] = row

    assert types_in(plain_value(row, Shown())) <= PLAIN


def test_records_and_numbers_of_other_libraries_are_read_by_their_fields():
    import numpy as np

    assert plain_value(Record(Path("/x"), 2), Shown()) == {"path": "/x", "inner": 2}
    assert plain_value(Point(1, 2), Shown()) == {"x": 1, "y": 2}
    assert plain_value([np.float64(1.5), np.array([1, 2])], Shown()) == [1.5, [1, 2]]


def test_a_mark_that_a_row_wrote_shows_no_other_medium_than_the_samples_own():
    shown = Shown([Image(b"x")])

    assert shown.parts("a\ufdd07\ufdd1b") == (Text("a\ufdd07\ufdd1b"),)
    assert shown.words("a\ufdd00\ufdd1b") == "a[image]b"


def test_media_printed_as_a_list_or_as_json_are_words_and_no_code_points():
    template = compiled_text("{{ sample.media }} {{ sample.media | tojson }}", "t")[0]
    shown = Shown()

    text = template.render(
        variables_of(Sample("1", "x", media=(Image(b"x"),)), ["sample"], shown)
    )

    assert shown.parts(text) == (Text("('[image]',) [\"[image]\"]"),)
    assert "ufdd0" not in shown.words(text)
