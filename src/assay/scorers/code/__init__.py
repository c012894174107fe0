"""Scorers that run what a model wrote, in a sandbox."""
