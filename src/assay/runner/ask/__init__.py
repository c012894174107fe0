"""Answer requests: choose the model or server, limit the requests in flight, and retry failures."""
