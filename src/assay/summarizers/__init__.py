"""Summarizers: compute the numbers of a run from its score records."""
