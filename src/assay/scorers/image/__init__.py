"""Scorers of generated images."""
