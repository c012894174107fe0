"""Overhead a sample: a model that answers at once, JSONL in, exact match, full records on disk.

Prints the slope between two sizes, beside a bare script that does the same work by hand in the same run.

    python bench/overhead.py [--small 5000] [--large 50000] [--repeats 3]
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from measured import ASSAY, cost_of

BARE = """
import asyncio, json, sys, time, uuid
async def model(messages):
    await asyncio.sleep(0)
    return {"content": "42", "usage": {"input_tokens": 60, "output_tokens": 1}}
async def main():
    import msgspec
    encode, decode = msgspec.json.encode, msgspec.json.decode
    with open(sys.argv[1], "rb") as rows, open(sys.argv[2], "wb") as out:
        buffer = []
        async def worker():
            for line in rows:
                row = decode(line)
                messages = [{"role": "user", "content": row["question"]}]
                start = time.time()
                answer = await model(messages)
                hit = answer["content"].strip() == row["answer"].strip()
                buffer.append(encode({"id": row["id"], "uuid": uuid.uuid4().hex, "messages": messages, "output": answer,
                                      "target": row["answer"], "score": hit, "start": start, "end": time.time()}))
                if len(buffer) >= 100:
                    out.write(b"\\n".join(buffer) + b"\\n")
                    out.flush()
                    buffer.clear()
        await asyncio.gather(*[worker() for _ in range(64)])
        out.write(b"\\n".join(buffer) + b"\\n")
asyncio.run(main())
"""


def write_rows(path: Path, count: int) -> None:
    """Questions of about 200 characters, half of them with the answer the model gives."""
    words = "nust pon bun lest sir rul pest men ro nel tul kir sel fur lo dul lal sust gan mel fan dist mo".split()  # noqa: SIM905
    with open(path, "w", encoding="utf-8") as out:
        for number in range(count):
            story = " ".join(words[(number + k * 7) % len(words)] for k in range(40))
            row = {
                "id": number,
                "question": f"Story: {story}. Question {number}: what is the number?",
            }
            out.write(json.dumps({**row, "answer": "42" if number % 2 else "7"}) + "\n")


def main() -> None:
    """Print one line for assay, one for the bare script, and their ratio."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--small", type=int, default=5000)
    arguments.add_argument("--large", type=int, default=50000)
    arguments.add_argument("--repeats", type=int, default=3)
    given = arguments.parse_args()
    folder = Path(tempfile.mkdtemp())
    (folder / "model.py").write_text("def generate(messages):\n    return '42'\n")
    (folder / "bare.py").write_text(BARE)
    write_rows(folder / "small.jsonl", given.small)
    write_rows(folder / "large.jsonl", given.large)
    slopes: dict[str, list[float]] = {"bare": [], "assay": []}
    peaks: list[tuple[float, float]] = []
    for _ in range(given.repeats):
        costs = {}
        for size in ("small", "large"):
            data = str(folder / f"{size}.jsonl")
            costs["bare", size] = cost_of(
                [
                    sys.executable,
                    str(folder / "bare.py"),
                    data,
                    str(folder / "bare.out"),
                ]
            )
            shutil.rmtree(folder / "run", ignore_errors=True)
            run = [
                *ASSAY,
                "run",
                data,
                "--model",
                str(folder / "model.py") + ":generate",
                "--scorer",
                "exact_match",
            ]
            costs["assay", size] = cost_of([*run, "-o", str(folder / "run")])
        for name in slopes:
            extra = costs[name, "large"].cpu_seconds - costs[name, "small"].cpu_seconds
            slopes[name].append(extra / (given.large - given.small) * 1e6)
        peaks.append((costs["assay", "small"].peak_mb, costs["assay", "large"].peak_mb))
    bare, assay = min(slopes["bare"]), min(slopes["assay"])
    print(
        f"bare script  {bare:6.1f} µs a sample  (all: {', '.join(f'{s:.1f}' for s in slopes['bare'])})"
    )
    print(
        f"assay        {assay:6.1f} µs a sample  (all: {', '.join(f'{s:.1f}' for s in slopes['assay'])})"
    )
    print(f"ratio        {assay / bare:6.1f}")
    print(
        f"peak memory  {peaks[0][0]:.0f} MB at {given.small}, {peaks[0][1]:.0f} MB at {given.large}"
    )
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
