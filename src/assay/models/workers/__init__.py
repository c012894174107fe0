"""Scorer workers: detectors, VQA and CLIP models and judges, each in a separate process and environment."""

from .worker_model import Worker

__all__ = ["Worker"]
