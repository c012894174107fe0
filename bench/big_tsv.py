"""A large TSV of base64 images: how soon the first sample is there, CPU a row and peak memory of a whole run.

The dataset's own bytes must reach the model: it answers with the length of the image and the number inside it.

    python bench/big_tsv.py [--rows 20000] [--kilobytes 85] [--folder FOLDER]
"""

import argparse
import base64
import io
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measured import ASSAY, cost_of

MODEL = """
def generate(request):
    (picture,) = request.prompt.media
    data = picture.data()
    assert data[:2] == b"\\xff\\xd8" and data[-2:] == b"\\xff\\xd9"
    return f"{len(data)} {data[6:18].decode()}"
"""
FIRST = """
import sys, time
from assay.datasets import open_dataset
started = time.perf_counter()
sample = next(iter(open_dataset(sys.argv[1])))
sample.media[0].data()
print(time.perf_counter() - started)
"""


def main() -> None:
    """Make the file, then print the figures."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rows", type=int, default=20_000)
    arguments.add_argument("--kilobytes", type=int, default=85)
    arguments.add_argument("--folder", default=None)
    given = arguments.parse_args()
    folder = Path(given.folder or tempfile.mkdtemp())
    table = folder / "pictures.tsv"
    write_table(table, given.rows, given.kilobytes * 1024)
    (folder / "model.py").write_text(MODEL)
    print(f"{given.rows} rows, {table.stat().st_size / 1e9:.2f} GB")
    first = subprocess.run(
        [sys.executable, "-c", FIRST, str(table)],
        capture_output=True,
        text=True,
        check=True,
    )
    print(f"first sample ready {float(first.stdout):.4f} s after import")
    run = [
        *ASSAY,
        "run",
        str(table),
        "--model",
        f"{folder / 'model.py'}:generate",
        "--scorer",
        "exact_match",
    ]
    limited = cost_of([*run, "--limit", "10", "-o", str(folder / "ten")])
    print(f"ten rows of it: {limited.cpu_seconds:.2f} s CPU, {limited.peak_mb:.0f} MB")
    started = time.perf_counter()
    whole = cost_of([*run, "-o", str(folder / "run")])
    extra = (whole.cpu_seconds - limited.cpu_seconds) / (given.rows - 10) * 1e3
    wall = time.perf_counter() - started
    print(
        f"all rows: {whole.cpu_seconds:.1f} s CPU, {wall:.1f} s wall, {whole.peak_mb:.0f} MB"
    )
    print(f"a row: {extra:.2f} ms CPU")
    if given.folder is None:
        shutil.rmtree(folder)


def write_table(path: Path, rows: int, size: int) -> None:
    """Rows whose images differ by a comment segment; the answer is the image's length and that comment."""
    picture = jpeg(size)
    with open(path, "w", encoding="ascii") as out:
        out.write("index\timage\tquestion\tanswer\n")
        for number in range(rows):
            note = b"%012d" % number
            data = (
                picture[:2]
                + b"\xff\xfe"
                + (len(note) + 2).to_bytes(2, "big")
                + note
                + picture[2:]
            )
            out.write(
                f"{number}\t{base64.b64encode(data).decode()}\tHow many bytes?\t{len(data)} {note.decode()}\n"
            )


def jpeg(size: int) -> bytes:
    """Return a noisy image whose file is about `size` bytes."""
    from PIL import Image

    rng = random.Random(7)
    side = 64
    data = b""
    while len(data) < size:
        side += 16
        noise = Image.frombytes("RGB", (side, side), rng.randbytes(3 * side * side))
        buffer = io.BytesIO()
        noise.save(buffer, format="JPEG", quality=85)
        data = buffer.getvalue()
    return data


if __name__ == "__main__":
    main()
