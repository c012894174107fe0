"""One scorer on one answer: what it says, what became of it, how long it may take."""
