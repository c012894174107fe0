"""Score lines to results: the rows of the table, made and made again."""
