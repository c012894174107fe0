"""One scorer on one answer: its score, the outcome, and the time limit."""
