"""The shipped workers, one class a file. Each runs in another process and imports nothing of assay."""
