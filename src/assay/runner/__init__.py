"""The runner: plans a run, drives the models, keeps and scores what they answer."""
