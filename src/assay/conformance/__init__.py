"""Conformance: compare scorers (assay's or a user's) with stored results of the official code."""

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
