"""Conformance: frozen fixtures of what official code says, and whether our scorers, or yours, say the same."""

from .checking import Difference, Verdict, check
from .fixtures import Case, Fixture, fixture_names, load_fixture, select

__all__ = [
    "Case",
    "Difference",
    "Fixture",
    "Verdict",
    "check",
    "fixture_names",
    "load_fixture",
    "select",
]
