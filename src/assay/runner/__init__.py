"""The runner: plans a run, asks the models, and stores and scores their answers."""
