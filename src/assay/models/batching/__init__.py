"""Batch APIs of endpoints: many requests in one file, answered within a day at a lower price.

The model adapters write the requests and read the replies as outside a batch: `batch_client` replaces
their HTTP client.
"""
