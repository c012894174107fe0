"""The benchmarks of assay, each family in one module that is loaded on first use."""
