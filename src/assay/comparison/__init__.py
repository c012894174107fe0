"""Comparisons of finished runs, paired on sample ids, with intervals and tests of their differences."""
