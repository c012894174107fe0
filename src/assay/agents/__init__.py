"""Agent programs: programs that call a model over HTTP. They run in a workspace, and the model of the run answers."""
