"""From score records to results, which are the rows of the table."""
