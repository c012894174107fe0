"""What cases are made of: pictures and small tables in `$LMUData`."""

# ruff: noqa: SIM112 - LMUData is the guest's own spelling

import base64
import io
import os
from pathlib import Path
from typing import Any

from PIL import Image


def picture(
    colour: Any, mode: str = "RGB", size: tuple[int, int] = (24, 16), fmt: str = "PNG"
) -> str:
    buffer = io.BytesIO()
    Image.new(mode, size, colour).save(buffer, fmt)
    return base64.b64encode(buffer.getvalue()).decode()


def write(name: str, columns: str, rows: list[list[Any]]) -> None:
    lines = [
        "\t".join(columns.split()),
        *("\t".join("" if c is None else str(c) for c in row) for row in rows),
    ]
    (Path(os.environ["LMUData"]) / f"{name}.tsv").write_text(
        "\n".join(lines) + "\n", encoding="utf-8"
    )
