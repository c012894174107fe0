"""Benchmarks: what ships with assay, one file each, loaded when it is asked for."""
