"""Executors: a model in several copies, in processes of this machine or as Ray actors of many."""
