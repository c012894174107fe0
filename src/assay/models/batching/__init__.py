"""Batch APIs of endpoints: many requests in one file, answered within a day at a lower price.

The adapters write the requests and read the replies, exactly as they do one by one: `batch_client` takes the place of
their HTTP client.
"""
