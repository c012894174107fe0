"""All checks before a model is loaded. Errors are reported together."""
