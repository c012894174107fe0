"""The table of docs/development/promises.md: every promise names tests, and every test it names exists."""

import ast
import re
from dataclasses import fields
from functools import cache
from pathlib import Path

from each_row import each
from fault_counts import COMMIT, NIGHT

ROOT = Path(__file__).parents[2]
TEST = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
TABLE = (ROOT / "docs" / "development" / "promises.md").read_text(encoding="utf-8")
_, _, PROMISES = TABLE.partition("| promise | tests |")
ROWS = [
    line.strip("| ").split(" | ")
    for line in PROMISES.splitlines()
    if line.startswith("| ") and "**" not in line
]
ROWS = [row for row in ROWS if row[0] != "---"]


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    )


def test_the_page_says_how_often_each_fault_is_tried():
    rows = re.findall(
        r"^\| `(\w+)`[^|]*\| ([\d.]+) \| ([\d.]+) \|$", TABLE, re.MULTILINE
    )

    assert [(name, float(few), float(many)) for name, few, many in rows] == [
        (field.name, getattr(COMMIT, field.name), getattr(NIGHT, field.name))
        for field in fields(COMMIT)
    ]


def test_the_table_is_read():
    assert len(ROWS) >= 30


@each(("promise", "tests"), ROWS)
def test_every_promise_names_tests_that_exist(promise: str, tests: str):
    named = TEST.findall(tests)

    assert named and len(named) == len(tests.split("<br>"))
    for path, name in named:
        assert (ROOT / "tests" / path).is_file(), (
            f"the table names tests/{path}, which is not there"
        )
        assert name in names_in(path), f"tests/{path} has no {name}"
