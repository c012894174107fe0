"""The files and values on which code depends: users' files, their imports and data, and digests of code and state."""
