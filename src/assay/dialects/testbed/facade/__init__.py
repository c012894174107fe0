"""The names of the in-context-learning testbed, as its users' files import them."""
