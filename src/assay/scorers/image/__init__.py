"""Scorers of images that a model made."""
