"""What code, state and rows are, as digests: a change of any of them is seen."""
