"""`vlmeval.smp.status_report`: `status.json` of a run's folder."""

from ....kits.smp.status import (
    collect_run_benchmark_report,
    flatten_summary_metrics,
    load_run_status,
    upsert_dataset_status,
    upsert_run_status,
)

__all__ = [
    "collect_run_benchmark_report",
    "flatten_summary_metrics",
    "load_run_status",
    "upsert_dataset_status",
    "upsert_run_status",
]
