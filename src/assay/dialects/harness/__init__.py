"""Shared parts of lm-eval and its fork lmms-eval: names in YAML files, rows, random numbers and result rows."""
