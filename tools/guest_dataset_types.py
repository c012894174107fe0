"""Writes the types and modalities of the datasets that a VLMEvalKit checkout knows, by name.

    VENV/bin/python tools/guest_dataset_types.py CHECKOUT

`VENV` has what upstream's files import: all dataset classes are loaded. Only names and types are taken.
"""

import json
import os
import sys
import tempfile
import types
import warnings
from pathlib import Path

TARGET = (
    Path(__file__).parents[1]
    / "src"
    / "assay"
    / "dialects"
    / "vlmeval"
    / "dataset_types.json"
)


def main() -> None:
    """Write the file beside the facade that reads it."""
    warnings.simplefilter("ignore")
    root = Path(sys.argv[1]).resolve()
    os.environ.update(LMUData=tempfile.mkdtemp())
    sys.path.insert(0, str(root))
    # The outer package imports models and tools too; only its datasets are wanted.
    package = types.ModuleType("vlmeval")
    package.__path__ = [str(root / "vlmeval")]
    sys.modules["vlmeval"] = package
    import vlmeval.dataset as upstream  # type: ignore[import-not-found, unused-ignore]

    found: dict[str, list[str]] = {}
    for name in sorted(map(str, upstream.SUPPORTED_DATASETS)):
        kind, modality = upstream.DATASET_TYPE(name), upstream.DATASET_MODALITY(name)
        if isinstance(kind, str):
            found.setdefault(f"{modality} {kind}", []).append(name)
    TARGET.write_text(
        json.dumps(dict(sorted(found.items())), indent=1, ensure_ascii=False) + "\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
