"""Agent programs: programs that call a model over HTTP. They run in a workspace, and the run's model answers them."""
