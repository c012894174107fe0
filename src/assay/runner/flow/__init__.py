"""Run the rows, drivers and judges of each task × model, in one session."""
