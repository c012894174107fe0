"""The viewer: pages to list, read, compare and follow runs, in a browser, in a static folder or in one file."""
