"""Find the results of an earlier run in a folder, and decide which of them are still valid."""
