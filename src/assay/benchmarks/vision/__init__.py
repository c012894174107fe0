"""Vision-language benchmarks: one file per family of formats, in the TSV layout of VLMEvalKit."""
