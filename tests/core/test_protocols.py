"""The protocols say everything that the runner asks of what people write."""

import ast
from pathlib import Path

import assay
from assay.core import protocols

RUNNER = Path(assay.__file__).parent / "runner"
OTHERS = {
    "problem_mark": "of an error of the YAML library",
    "context_mark": "of an error of the YAML library",
    "problem": "of an error of the YAML library",
    "strerror": "of an error of the operating system",
    "sched_getaffinity": "of Python's `os`, on some systems",
    "AuthenticationTokenLoader": "of some versions of Ray",
    "item": "of a number of numpy or torch",
    "size": "of an array of numpy or torch",
    "items": "of rows in memory",
    "reference": "of a model or a task given as an object",
    "is_assay_task": "of a function that `@task` marked",
}
"""Names that are looked for in other things, and in what."""


def names_looked_for():
    """Each name that a module of the runner looks for by `getattr` or `hasattr`, with where."""
    for path in RUNNER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if called in ("getattr", "hasattr") and isinstance(
                node.args[1], ast.Constant
            ):
                yield node.args[1].value, f"{path.name}:{node.lineno}"


def declared_names():
    """The members of all protocols."""
    kinds = [
        kind
        for kind in vars(protocols).values()
        if getattr(kind, "_is_protocol", False)
    ]
    return {
        name
        for kind in kinds
        for name in (*vars(kind), *getattr(kind, "__annotations__", ()))
    }


def test_the_runner_looks_for_nothing_that_the_protocols_do_not_have():
    declared = declared_names()
    looked_for = list(names_looked_for())
    strange = [
        f"{name} in {where}"
        for name, where in looked_for
        if name not in declared and name not in OTHERS and not name.startswith("__")
    ]

    assert not strange
    assert set(OTHERS) <= {name for name, _ in looked_for}, (
        "take away what is not looked for any more"
    )


def test_what_a_protocol_says_a_thing_may_have_is_asked_for_somewhere():
    text = "".join(
        path.read_text(encoding="utf-8")
        for path in RUNNER.parent.rglob("*.py")
        if path.name != "protocols.py"
    )
    extras = (
        protocols.ModelExtras,
        protocols.ScorerExtras,
        protocols.SummarizerExtras,
        protocols.DatasetExtras,
    )
    names = [
        name
        for kind in extras
        for name in (*vars(kind), *kind.__annotations__)
        if not name.startswith("_")
    ]

    assert not [
        name for name in names if f'"{name}"' not in text and f".{name}" not in text
    ]


def test_the_runner_does_not_know_who_wrote_a_component():
    """An ability is declared; neither the name of a component nor the room it comes from decides."""
    wrong = [
        path.name
        for path in RUNNER.rglob("*.py")
        if '"assay.dialects' in path.read_text(encoding="utf-8")
    ]

    assert not wrong
