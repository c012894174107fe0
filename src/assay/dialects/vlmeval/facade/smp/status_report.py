"""`vlmeval.smp.status_report`: `status.json` of a run's folder."""

from ....kits.smp.status import (
    collect_run_benchmark_report,
    flatten_summary_metrics,
    is_number,
    load_run_status,
    to_number,
    upsert_dataset_status,
    upsert_run_status,
)

__all__ = [
    "collect_run_benchmark_report",
    "flatten_summary_metrics",
    "is_number",
    "load_run_status",
    "to_number",
    "upsert_dataset_status",
    "upsert_run_status",
]
