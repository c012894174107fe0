"""Decide what a folder contains from an earlier run, and which of it is still valid."""
