"""What is counted while answers arrive: tokens and cost, failures, cut answers, leaked targets, identical answers."""
