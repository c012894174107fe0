"""The workers that ship, one class a file; each runs in another process and imports nothing of assay."""
