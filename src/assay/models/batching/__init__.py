"""Batch APIs of endpoints: many requests in one file, answered within a day at a lower price.

The model adapters build requests and read replies with the same code as for single
calls. `batch_client` replaces their HTTP client, to collect the requests and to supply
the replies.
"""
