"""Scorers that use a model as judge."""
