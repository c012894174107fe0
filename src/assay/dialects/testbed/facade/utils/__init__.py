"""`testbed.utils`."""
