"""Pages of the viewer: list, read, compare and follow runs in a browser, in a static folder or in one file."""
