"""The code that lm-eval and its fork lmms-eval share: names in YAML files, rows, random numbers and results."""
