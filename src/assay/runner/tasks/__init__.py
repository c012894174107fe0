"""Convert the user's input to tasks: names, files, subsets, data, measures, shots, and changes by a run."""
