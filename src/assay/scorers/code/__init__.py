"""Scorers that run programs from answers in a sandbox."""
