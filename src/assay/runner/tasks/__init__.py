"""From what was typed to tasks: names, files, subsets, data, measures, shots, and what a run changes of them."""
