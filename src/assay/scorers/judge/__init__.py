"""Scorers in which a model judges: what it is asked, and how its reply is read."""
