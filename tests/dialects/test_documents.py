"""Every code block of every original document is in the table of its dialect's own test, which runs it."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent
SEEDS = HERE.parents[1].parent / "shared" / "seeds"
FENCE = re.compile(r"^ *```", re.MULTILINE)

TABLES = {
    "000": ("testbed", "test_seed_document.py", "TABLE"),
    "001": ("vlmeval", "test_document.py", "SIGNATURES"),
    "002": ("pipeline", "test_document.py", "FRAGMENTS"),
    "003": ("televal", "test_document.py", "TABLE"),
    "004": ("ulmeval", "test_seed_document.py", "PREAMBLES"),
}
"""By the number of the document: the dialect, its test, and the table there with one entry for each block."""
WITHOUT_BLOCKS = {"001"}
"""The code of this document stands in its sentences: its own test compares a table of such spans with the text."""

pytestmark = pytest.mark.skipif(
    not SEEDS.is_dir(), reason="the original documents are not beside this repository"
)


def document(number: str) -> str:
    found = sorted(SEEDS.glob(f"{number}_*.txt"))
    if not found:
        pytest.skip(f"document {number} is not beside this repository")
    return found[0].read_text(encoding="utf-8")


def fenced(text: str) -> int:
    """How many blocks a document has: half of its fences, counted without looking at what is inside."""
    fences = len(FENCE.findall(text))
    assert fences % 2 == 0, "a block of the document does not end"
    return fences // 2


def load(dialect: str, file: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The test module of a dialect, for its table."""
    monkeypatch.syspath_prepend(str(HERE / dialect))
    spec = spec_from_file_location(f"{dialect}_document_table", HERE / dialect / file)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_every_document_has_a_table():
    numbers = sorted(path.name.partition("_")[0] for path in SEEDS.glob("[0-9]*_*.txt"))

    assert set(numbers) <= set(TABLES)


@pytest.mark.parametrize("number", TABLES)
def test_the_table_has_as_many_entries_as_the_document_has_blocks(
    number: str, monkeypatch: pytest.MonkeyPatch
):
    dialect, file, name = TABLES[number]
    blocks = fenced(document(number))

    table = getattr(load(dialect, file, monkeypatch), name)

    if number in WITHOUT_BLOCKS:
        assert blocks == 0 and len(table) > 0
    else:
        assert blocks == len(table) > 0


@pytest.mark.parametrize("number", sorted(set(TABLES) - WITHOUT_BLOCKS))
def test_the_blocks_that_a_dialect_runs_are_all_of_the_document(
    number: str, monkeypatch: pytest.MonkeyPatch
):
    dialect, file, _ = TABLES[number]
    text = document(number)
    inside = [
        piece.partition("\n")[2]
        for piece in re.split(r"^ *```", text, flags=re.MULTILINE)[1::2]
    ]

    run = [body for _, body in load(dialect, file, monkeypatch).blocks()]

    assert [squeezed(body) for body in run] == [squeezed(body) for body in inside]


def squeezed(text: str) -> str:
    """A block without the indentation that its list gives it."""
    return "\n".join(line.strip() for line in text.strip().split("\n"))
