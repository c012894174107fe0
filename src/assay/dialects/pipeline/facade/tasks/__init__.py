"""`tasks`: datasets by name."""

from .dataset_registry import DatasetConfig, DatasetRegistry, load_json, load_jsonl

__all__ = ["DatasetConfig", "DatasetRegistry", "load_json", "load_jsonl"]
