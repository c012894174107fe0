"""Scorers with a model as judge: its prompts, and how its reply is read."""
