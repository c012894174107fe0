"""From score lines to results: the rows of the table."""
