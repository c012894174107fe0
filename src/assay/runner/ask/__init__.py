"""One request to one answer: who is asked, how many at once, what is tried again."""
