"""`ulmeval.utils.mp_util`: many calls at once, results by key in a file."""

from ....kits.many_calls import (
    async_recv_process_message,
    async_wait_process,
    cpu_count,
    terminate_processes,
    track_progress_rich,
)

__all__ = [
    "async_recv_process_message",
    "async_wait_process",
    "cpu_count",
    "terminate_processes",
    "track_progress_rich",
]
