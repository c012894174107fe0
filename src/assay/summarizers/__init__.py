"""Summarizers: compute the results of a run from its score records, such as a mean with an interval."""
