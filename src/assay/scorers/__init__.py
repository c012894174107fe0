"""Scorers: the verdict on one output, each a registered function or frozen dataclass."""
