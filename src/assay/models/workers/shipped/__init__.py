"""The shipped workers, one class per file. Each runs in its own process and imports nothing of assay."""
