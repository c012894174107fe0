"""docs/errors.md draws the tree of errors as it is."""

import importlib
from pathlib import Path

import pytest
from source_outline import MODULES, SOURCE, outline

from assay.core import AssayError

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
PRIVATE = {"Fault"}
"""Errors of the command line's own, which no caller can meet."""


def tree(kind=AssayError, depth=0):
    """A line for each error: its depth, name, exit code and what it means."""
    first = (kind.__doc__ or "").strip().split("\n")[0].rstrip(".")
    yield f"{'    ' * depth}{kind.__name__:<{32 - 4 * depth}} {kind.exit_code:>3}  {first}"
    for below in sorted(kind.__subclasses__(), key=lambda one: one.__name__):
        if below.__module__.startswith("assay.") and below.__name__ not in PRIVATE:
            yield from tree(below, depth + 1)


def import_all_errors():
    """Imports every module of assay that defines a kind of `AssayError`."""
    kinds = {"AssayError"}
    for _ in range(3):  # kinds of kinds of kinds
        for file in MODULES:
            for node in outline(file).classes:
                if kinds & {getattr(base, "id", "") for base in node.bases}:
                    kinds.add(node.name)
                    importlib.import_module(
                        ".".join(
                            ["assay", *file.relative_to(SOURCE).with_suffix("").parts]
                        )
                    )


@pytest.mark.xdist_group("sources")
def test_the_tree_of_errors_is_drawn_as_it_is():
    import_all_errors()

    drawn = (
        PAGE.read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    )

    assert drawn.splitlines() == list(tree())
