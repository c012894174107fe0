"""What is counted while answers come: tokens and cost, failures, cuts, leaks, answers that are all one."""
