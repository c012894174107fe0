"""The shipped workers, one class per file. Each runs in a separate process and imports nothing of assay."""
