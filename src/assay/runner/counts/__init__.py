"""Counters of a run's answers: tokens and cost, failures, cut answers, leaked targets, identical answers."""
