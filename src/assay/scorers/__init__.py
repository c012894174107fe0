"""Scorers: functions and frozen dataclasses that score one output of a model, registered by name."""
