"""Pages: runs listed, read, compared and watched in a browser, live, as a static folder or as one file."""
