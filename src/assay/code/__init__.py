"""The files and values on which users' code depends: its imports and data, and digests of code and state."""
