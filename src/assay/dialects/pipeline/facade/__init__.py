"""The modules that files written for the pipeline dialect import."""
