"""Speech benchmarks: recognition, translation, spoken questions, dialogue, robustness, spoken answers."""
