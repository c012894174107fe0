"""Scorer workers: detectors, VQA and CLIP models, judges, each in a process and environment of its own."""

from .model import Worker

__all__ = ["Worker"]
