"""The runner: plans a run, calls the models, and stores and scores their answers."""
