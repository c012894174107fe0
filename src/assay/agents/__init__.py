"""Agent programs: any program that calls a model over HTTP, run in a workspace and answered by the model of the run."""
