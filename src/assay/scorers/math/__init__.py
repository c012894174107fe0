"""Scorers of numbers and formulas."""
