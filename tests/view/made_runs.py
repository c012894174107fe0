"""Run folders written for tests of the viewer, through the store's own writer."""

import io
import wave
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.core import Audio, Image, Video
from assay.store import RunWriter

STARTED = "2026-11-16T03:00:00+0000"


def png(colour: tuple[int, int, int] = (200, 30, 30), side: int = 32) -> bytes:
    """A plain image."""
    from PIL import Image as pillow

    out = io.BytesIO()
    pillow.new("RGB", (side, side), colour).save(out, "PNG")
    return out.getvalue()


def wav(seconds: float = 0.5) -> bytes:
    """A tone that grows louder."""
    frames = int(8000 * seconds)
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(
            b"".join(
                int((k % 40 - 20) * 1200 * k / frames).to_bytes(
                    2, "little", signed=True
                )
                for k in range(frames)
            )
        )
    return out.getvalue()


def webm(frames: int = 20) -> bytes:
    """A video of two seconds that grows brighter."""
    import av
    import numpy as np

    out = io.BytesIO()
    with av.open(out, "w", format="webm") as container:
        stream = container.add_stream("libvpx", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for level in range(frames):
            picture = np.full((48, 64, 3), 12 * level, np.uint8)
            for packet in stream.encode(
                av.VideoFrame.from_ndarray(picture, format="rgb24")
            ):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return out.getvalue()


def output_line(
    task: str,
    model: str,
    id: str,
    key: str,
    prompt: Any,
    output: Mapping[str, Any],
    **more: Any,
) -> dict[str, Any]:
    """The line of an answer, as plain data that a test may change."""
    plain = {
        "kind": "output",
        "task": task,
        "model": model,
        "id": id,
        "key": key,
        "prompt": prompt,
        "output": output,
    }
    return plain | {name: value for name, value in more.items() if value is not None}


def score_line(
    task: str,
    model: str,
    id: str,
    scorer: str,
    digest: str,
    values: Mapping[str, Any],
    outcome: str,
    **more: Any,
) -> dict[str, Any]:
    """The line of a verdict, as plain data."""
    plain = {
        "kind": "score",
        "task": task,
        "model": model,
        "id": id,
        "scorer": scorer,
        "digest": digest,
    }
    return plain | {"values": values, "outcome": outcome} | more


def result(task: str, metric: str, value: float, n: int, **more: Any) -> dict[str, Any]:
    """A row of a summary."""
    low, high = max(0.0, value - 0.1), min(1.0, value + 0.1)
    plain = {
        "task": task,
        "protocol": task,
        "model": "model",
        "metric": metric,
        "value": value,
        "stderr": 0.05,
        "ci": [low, high],
        "interval": "wilson",
        "n": n,
        "n_expected": n,
        "outcomes": {"scored": n},
        "groups": {},
        "parsed_value": None,
        "bounds": None,
        "flags": [],
        "higher_is_better": True,
        "clusters": None,
    }
    return {**plain, **more}


def manifest(
    *tasks: str, scorers: Sequence[str] = ("exact",), **more: Any
) -> dict[str, Any]:
    """A `run.json`, as far as readers look into it."""
    cells = [
        {
            "task": t,
            "protocol": t,
            "model": "model",
            "scorers": dict.fromkeys(scorers, "d"),
            "options": {},
        }
        for t in tasks
    ]
    plain = {
        "format": 2,
        "status": "complete",
        "config": {"tasks": list(tasks), "models": ["model"]},
        "started": STARTED,
    }
    return {
        **plain,
        "finished": "2026-11-16T03:01:00+0000",
        "cells": cells,
        "versions": {"assay": "0.1.0"},
        **more,
    }


def answered(
    id: str,
    question: Any,
    answer: Any,
    target: Any = None,
    task: str = "sums",
    **more: Any,
) -> dict[str, Any]:
    """The line of an answer; `answer` is text, or a list of candidates."""
    candidates = (
        [{"text": answer, "stop_reason": "stop"}] if isinstance(answer, str) else answer
    )
    output = {
        "candidates": candidates,
        "usage": {"input_tokens": 10, "output_tokens": 4},
        "seconds": 0.25,
    }
    prompt = (
        question
        if isinstance(question, list)
        else [{"role": "user", "content": question}]
    )
    return output_line(
        task,
        "model",
        id,
        f"{abs(hash((id, task, str(more)))):032x}"[:32],
        prompt,
        output,
        target=target,
        **more,
    )


def judged(
    id: str,
    value: float | None,
    outcome: str = "scored",
    task: str = "sums",
    scorer: str = "exact",
    **more: Any,
) -> dict[str, Any]:
    """The line of a verdict."""
    values = more.pop("values", {} if value is None else {scorer: value})
    return score_line(task, "model", id, scorer, "d" * 28, values, outcome, **more)


def write_run(
    folder: Path,
    lines: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]] = (),
    described: Mapping[str, Any] | None = None,
    media: Sequence[Image | Audio | Video] = (),
    notes: Sequence[str] = (),
    finished: bool = True,
) -> Path:
    """A run folder with these lines."""
    plain = described or manifest("sums")
    with RunWriter(folder) as writer:
        for medium in media:
            writer.blobs.put(medium)
        for line in lines:
            writer.journal.append(line)
        writer.write_manifest({**plain, "status": "running"})
        if finished:
            summary = {
                "status": "complete",
                "run": str(folder),
                "results": list(results),
                "usage": {},
                "notes": list(notes),
            }
            writer.finish(plain, summary)
    return folder


def sums(folder: Path, count: int = 40, right: int = 30) -> Path:
    """Sums, of which the first so many are right."""
    lines = []
    for n in range(count):
        good = n < right
        lines.append(
            answered(
                f"s{n:03}",
                f"What is {n} + {n}?",
                f"It is {2 * n if good else 2 * n + 1}.",
                str(2 * n),
            )
        )
        more = {
            "answer": str(2 * n if good else 2 * n + 1),
            "details": {"rule": "last number"},
            "order": n,
        }
        lines.append(
            judged(
                f"s{n:03}",
                float(good),
                tags={"size": "small" if n < 20 else "large"},
                **more,
            )
        )
    value = right / count
    return write_run(
        folder,
        lines,
        [result("sums", "exact", value, count, details={"scale": [0.0, 1.0]})],
    )
