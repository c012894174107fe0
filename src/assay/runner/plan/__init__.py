"""Everything that is checked before a model is loaded. All errors are reported at once."""
