"""The contents of a folder from an earlier run, and which of them are still valid."""
