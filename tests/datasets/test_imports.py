"""What opening a dataset does not load."""

import subprocess
import sys

HEAVY = (
    "http.client",
    "pyarrow",
    "zstandard",
    "datasets",
    "numpy",
    "pandas",
    "torch",
    "ssl",
)


def test_importing_datasets_loads_no_network_and_no_heavy_library() -> None:
    script = f"import sys, assay.datasets; print([name for name in {HEAVY!r} if name in sys.modules])"

    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert run.stdout.strip() == "[]"
