"""The page of protocols has every benchmark that is not text, each in one line, and no other."""

import importlib
import re
from collections import Counter
from pathlib import Path

from assay.catalogue import BENCHMARKS

PAGE = Path(__file__).parents[2] / "docs" / "protocols.md"
CELLS = 8


def shipped() -> set[str]:
    """The benchmarks whose question or answer has an image or a sound, and their variants in writing."""
    modules = r"assay\.benchmarks\.(?:vision|speech|image)_tasks:"
    return {
        name
        for name, (place, _) in BENCHMARKS.items()
        if re.match(modules, place) or name.startswith("demo_")
    }


def lines() -> list[list[str]]:
    rows = [
        line
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    ]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def names_in(cell: str) -> list[str]:
    """The names of a first cell: those before `+`, and each of them with each ending after it."""
    stems, _, endings = cell.partition("+")
    bases = re.findall(r"`(\w+)`", stems)
    return [
        base + ending
        for base in bases
        for ending in ("", *re.findall(r"`(\w+)`", endings))
    ]


def test_every_benchmark_that_is_not_text_has_its_line_and_only_one():
    named = Counter(name for row in lines() for name in names_in(row[0]))

    assert set(named) == shipped()
    assert max(named.values()) == 1


def test_every_line_says_all_there_is_to_say():
    for row in lines():
        assert len(row) == CELLS, row[0]
        prompt, rows, reading, values, _, source, checked = row[1:]
        assert all((prompt, rows, reading, values, source, checked)), row[0]


def test_the_catalogue_and_the_tasks_mark_the_same_benchmarks_as_format_checked():
    here = {
        name
        for row in lines()
        for name in names_in(row[0])
        if row[-1] == "format-checked"
    }

    by_themselves = set()
    for name in shipped():
        module, _, attribute = BENCHMARKS[name][0].partition(":")
        task = getattr(importlib.import_module(module), attribute)
        by_themselves |= {name} if "format-checked" in task.description else set()
    assert here == by_themselves
