"""Vision-language benchmarks: one file for each family of formats, on the TSV layout VLMEvalKit made common."""
