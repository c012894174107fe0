"""The way from a request to its answer: the choice of model or server, the number of
requests in flight, and retries.
"""
