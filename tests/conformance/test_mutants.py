"""Mutants: every single sign of a scorer's own arithmetic is flipped in turn, and its fixtures must notice each."""

import ast
import importlib.util
import sys
from importlib import import_module
from pathlib import Path

import pytest

from assay import registry
from assay.conformance import check, select
from assay.core import Spec

FLIPS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
}
SCORERS = {
    "vqa_accuracy": "vision.vqa",
    "relaxed_accuracy": "vision.relaxed",
    "anls": "vision.anls",
    "box_iou": "vision.boxes",
    "f1": "text.tokens_f1",
    "rouge": "text.rouge",
    "caption": "vision.caption",
    "wise_legacy": "image.wise",
    "clip_score": "image.clip_score",
    "dpg": "image.dpg",
    "geneval": "image.geneval",
    "ocr_text": "image.ocr_text",
    "choice_likelihood": "choice.likelihood",
}
EQUIVALENT = {
    "geneval": frozenset(
        {"i - 2"}
    ),  # of four edges, the second before is the second after
    "choice_likelihood": frozenset(
        {"sum((weight == top for weight in column)) + 1"}
    ),  # ties are only noted
}
"""Flips that change nothing a score can show."""


def signs(tree):
    """The nodes with a sign to flip, in a fixed order."""
    for node in ast.walk(tree):
        is_sum = (
            isinstance(node, ast.BinOp) and type(node.op) in FLIPS and not is_text(node)
        )
        if is_sum or (isinstance(node, ast.Compare) and type(node.ops[0]) in FLIPS):
            yield node


def is_text(node):
    parts = (node.left, node.right)
    return any(
        isinstance(part, ast.JoinedStr) or isinstance(getattr(part, "value", None), str)
        for part in parts
    )


def mutant(module, number, folder, monkeypatch):
    """The module with its n-th sign flipped, and the line as it then reads."""
    source = import_module(module).__file__
    tree = ast.parse(Path(source).read_text(encoding="utf-8"))
    node = list(signs(tree))[number]
    if isinstance(node, ast.BinOp):
        node.op = FLIPS[type(node.op)]()
    else:
        node.ops[0] = FLIPS[type(node.ops[0])]()
    path = folder / "mutant.py"
    path.write_text(ast.unparse(tree), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(module, path)
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(
        sys.modules, module, made
    )  # dataclasses look their module up by its name
    monkeypatch.setattr(registry.scorers, "register", lambda name: lambda thing: thing)
    spec.loader.exec_module(made)
    return made, f"{node.lineno}: {ast.unparse(node)}"


CASES = [
    (scorer, number)
    for scorer, module in SCORERS.items()
    for number, _ in enumerate(
        signs(
            ast.parse(
                Path(import_module(f"assay.scorers.{module}").__file__).read_text(
                    encoding="utf-8"
                )
            )
        )
    )
]


@pytest.mark.parametrize(("scorer", "number"), CASES)
def test_a_flipped_sign_breaks_a_fixture(scorer, number, tmp_path, monkeypatch):
    kind = type(registry.scorers.build(scorer)).__name__
    made, line = mutant(
        f"assay.scorers.{SCORERS[scorer]}", number, tmp_path, monkeypatch
    )

    if line.partition(": ")[2] in EQUIVALENT.get(scorer, ()):
        pytest.skip(f"changes no score: {line}")
    assert any(
        differs(fixture, getattr(made, kind), monkeypatch) for fixture in select(scorer)
    ), line


def differs(fixture, kind, monkeypatch):
    def build(spec, where):
        return Spec.of(spec).name, kind(**Spec.of(spec).options)

    monkeypatch.setattr("assay.conformance.checking.build_scorer", build)
    try:
        return check(fixture).word == "differs"
    except Exception:  # a mutant that cannot even count is noticed too
        return True
