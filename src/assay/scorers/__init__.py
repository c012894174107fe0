"""Scorers: registered functions and frozen dataclasses that judge one output of a model."""
