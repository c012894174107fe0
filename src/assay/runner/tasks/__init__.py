"""Turn the user's input into tasks: names, files, subsets, data, measures, shots, and changes by a run."""
