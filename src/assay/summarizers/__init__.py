"""Summarizers: the numbers of a run, made from its score records."""
