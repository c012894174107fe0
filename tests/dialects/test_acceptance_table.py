"""The table of docs/development/dialects.md: every item of every acceptance list has a test, or says why not."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from assay.dialects.recognise import DIALECTS

LIBRARIES = ("lm_eval", "lmms_eval", "inspect_ai", "harbor")
WITH_CONTRACTS = tuple(name for name in DIALECTS if name not in LIBRARIES)
"""Tasks that run through their own packages, and Harbor, whose format is public, need no contract."""
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "development" / "dialects.md"
CONTRACTS = ROOT.parent / "shared" / "seeds" / "CONTRACTS.md"
HEADING = re.compile(r"^### (\w+) \(CONTRACTS (\d\.4)\)$", re.MULTILINE)
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+) \|$", re.MULTILINE)
TEST = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def lists() -> dict[str, tuple[str, dict[int, str]]]:
    """By dialect: the section of the contract, and what the table says for each item."""
    _, *pieces = HEADING.split(PAGE.read_text(encoding="utf-8"))
    return {
        name: (section, {int(number): tests for number, _, tests in ROW.findall(body)})
        for name, section, body in zip(
            pieces[::3], pieces[1::3], pieces[2::3], strict=True
        )
    }


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    return frozenset(
        node.name
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    )


def test_the_table_has_every_dialect():
    assert set(lists()) == set(WITH_CONTRACTS)


@pytest.mark.parametrize("dialect", WITH_CONTRACTS)
def test_every_test_the_table_names_exists(dialect: str):
    _, items = lists()[dialect]
    named = [found for tests in items.values() for found in TEST.findall(tests)]

    assert len(named) >= len(items)
    for path, name in named:
        assert (ROOT / "tests" / path).is_file(), (
            f"the table names tests/{path}, which is not there"
        )
        assert name in names_in(path), f"tests/{path} has no {name}"


@pytest.mark.parametrize("dialect", WITH_CONTRACTS)
def test_every_item_has_a_test_or_says_why_it_is_open(dialect: str):
    _, items = lists()[dialect]

    for number, tests in items.items():
        *cells, last = tests.split("<br>")
        assert all(TEST.fullmatch(cell) for cell in cells), f"item {number}: {tests}"
        assert TEST.fullmatch(last) or re.match(r"open: \w.{20,}", last), (
            f"item {number}: {last}"
        )


@pytest.mark.skipif(
    not CONTRACTS.exists(), reason="the contracts are not beside this repository"
)
@pytest.mark.parametrize("dialect", WITH_CONTRACTS)
def test_the_table_has_every_item_of_the_contract(dialect: str):
    section, items = lists()[dialect]
    text = (
        CONTRACTS.read_text(encoding="utf-8")
        .partition(f"### {section} Acceptance")[2]
        .partition("\n---")[0]
    )
    promised = [int(number) for number in re.findall(r"^(\d+)\. ", text, re.MULTILINE)]

    assert promised
    assert list(items) == promised
