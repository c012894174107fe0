"""From a request to its answer: the model or server to ask, the number of requests at once, and retries."""
