"""Everything checked before a model is loaded, all faults at once; what is left is a list of cells."""
