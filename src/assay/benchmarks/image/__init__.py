"""Image generation and editing benchmarks."""
