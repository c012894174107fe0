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
    "f1": "text.word_overlap",
    "rouge": "text.word_overlap",
    "caption": "vision.caption",
    "wise_legacy": "image.wise",
    "clip_score": "image.text_alignment",
    "dpg": "image.dpg",
    "geneval": "image.geneval",
    "ocr_text": "image.rendered_text",
    "choice_likelihood": "choice.likelihood",
}
PARTS = {
    "anls": {"Anls", "similarity", "apply_threshold", "squeezed"},
    "caption": {"Caption", "bleu_counts", "ngrams", "rouge_l"},
    "f1": {"TokenF1", "token_f1"},
    "rouge": {
        "Rouge",
        "_Tokens",
        "_common",
        "_ngram_score",
        "_ngrams",
        "_f_measure",
    },
    "clip_score": {"ClipScore", "ClipScoreAsked", "clip_score"},
    "ocr_text": {"OcrText", "_against", "edit_similarity", "_lines"},
    "choice_likelihood": {
        "ChoiceLikelihood",
        "_fault_of",
        "_plain",
        "_normalized",
        "_unconditioned",
        "_best",
    },
}
"""The definitions that belong to a scorer, for modules with several scorers."""
EQUIVALENT = {
    "geneval": frozenset(
        {"i - 2"}
    ),  # of four edges, the second before is the second after
    "choice_likelihood": frozenset(
        {"sum((weight == top for weight in column)) + 1"}
    ),  # ties are only noted
}
"""Flips that change nothing a score can show."""


def signs(tree, scorer):
    """The nodes of a scorer with a sign to flip, in a fixed order."""
    for statement in tree.body:
        if scorer in PARTS and getattr(statement, "name", None) not in PARTS[scorer]:
            continue
        for node in ast.walk(statement):
            is_sum = isinstance(node, ast.BinOp) and type(node.op) in FLIPS
            is_order = isinstance(node, ast.Compare) and type(node.ops[0]) in FLIPS
            if is_order or (is_sum and not is_text(node)):
                yield node


def is_text(node):
    parts = (node.left, node.right)
    return any(
        isinstance(part, ast.JoinedStr) or isinstance(getattr(part, "value", None), str)
        for part in parts
    )


def mutant(scorer, number, folder, monkeypatch):
    """The module with its n-th sign flipped, and the line as it then reads."""
    module = f"assay.scorers.{SCORERS[scorer]}"
    source = import_module(module).__file__
    tree = ast.parse(Path(source).read_text(encoding="utf-8"))
    node = list(signs(tree, scorer))[number]
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


CASES = []
for scorer, module in SCORERS.items():
    file = Path(import_module(f"assay.scorers.{module}").__file__)
    count = len([*signs(ast.parse(file.read_text(encoding="utf-8")), scorer)])
    CASES += [(scorer, number) for number in range(count)]


@pytest.mark.parametrize(("scorer", "number"), CASES)
def test_a_flipped_sign_breaks_a_fixture(scorer, number, tmp_path, monkeypatch):
    kind = type(registry.scorers.build(scorer)).__name__
    made, line = mutant(scorer, number, tmp_path, monkeypatch)

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
