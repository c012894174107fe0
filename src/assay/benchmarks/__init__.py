"""Benchmarks that ship with assay, each family in one file, loaded on first use."""
