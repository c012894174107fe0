"""A dataset class of a kit over synthetic rows: its object, a file of predictions, and what its `evaluate` returns.

Nothing here knows assay's names, so that upstream's own classes are built and asked in the same way.
"""

import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.guest_worlds import synthetic
from tools.guest_worlds.alone import DATA

DRAWN = ("T2I", "IT2I")
"""Types of datasets that are answered with images."""


@dataclass(frozen=True)
class Way:
    """What one attempt gives a class."""

    answer: Any
    says: str
    reply: str
    judge: str | None
    options: Mapping[str, Any] = field(default_factory=dict)


def built(
    cls: Any,
    name: str,
    columns: dict[str, list[Any]],
    folder: Path,
    options: Mapping[str, Any],
) -> Any:
    """Return the user's object over synthetic rows, stored where the class looks for its table."""
    root = Path(os.environ[DATA])
    names = {name, *getattr(cls, "DATASET_URL", {})}
    address = str((getattr(cls, "DATASET_URL", {}) or {}).get(name, ""))
    for stem in {name, address.rpartition("/")[2].removesuffix(".tsv")} - {""}:
        synthetic.write_table(root / f"{stem}.tsv", columns)
    cls.DATASET_MD5 = dict.fromkeys(names)
    if is_video(cls):
        clips = sorted(set(map(str, columns["video"])))
        if not (folder / "clips" / clips[0]).exists():
            synthetic.write_videos(folder / "clips", clips)
        found = {"root": str(folder / "clips"), "data_file": str(root / f"{name}.tsv")}
        if not hasattr(cls, "_prepared_by_itself"):
            cls._prepared_by_itself = cls.prepare_dataset
        cls.prepare_dataset = lambda self, *given, **more: (
            _prepared(self, given, more) | found
        )
    parameters = inspect.signature(cls.__init__).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    given = {"dataset": name} if "dataset" in parameters or takes_any else {}
    if is_video(cls) and ("nframe" in parameters or takes_any) and "fps" not in options:
        given["nframe"] = 4
    return cls(**{**given, **options})


def _prepared(instance: Any, given: Any, more: Any) -> dict[str, Any]:
    """Return what the class sets up and prints before it misses its files."""
    try:
        own = instance._prepared_by_itself(*given, **more)
    except Exception:  # noqa: BLE001 - it has no files here
        return {}
    return own if isinstance(own, dict) else {}


def is_video(cls: Any) -> bool:
    """Whether rows have a video."""
    return str(getattr(cls, "MODALITY", "")).upper() == "VIDEO"


def predicted(instance: Any, says: str, name: str, folder: Path) -> str:
    """Write a prediction file: the same answer for every other row, or images for drawing tasks."""
    data = instance.data
    for place in range(len(data)):
        prompt(instance, place)
    frame = data.drop(columns=[c for c in ("image",) if c in data.columns]).copy()
    if str(getattr(instance, "TYPE", "")).upper() in DRAWN:
        return _drawn(frame, name, folder)
    is_dialogue = str(getattr(instance, "TYPE", "")).upper() == "MT"
    given = [says if place % 2 == 0 else "unsure" for place in range(len(frame))]
    frame["prediction"] = [repr([text]) for text in given] if is_dialogue else given
    target = _emptied(folder, name, "xlsx")
    frame.to_excel(target, index=False)
    return str(target)


def _drawn(frame: Any, name: str, folder: Path) -> str:
    """Write the file of a benchmark with image answers: one for each row, pickled as the kit does."""
    frame["index"] = frame["index"].astype(str)
    frame["prediction"] = [[synthetic.image(place)] for place in range(len(frame))]
    target = _emptied(folder, name, "pkl")
    frame.to_pickle(target)
    return str(target)


def _emptied(folder: Path, name: str, suffix: str) -> Path:
    target = folder / "out" / "Scripted" / f"Scripted_{name.replace('/', '_')}.{suffix}"
    target.parent.mkdir(parents=True, exist_ok=True)
    for old in target.parent.iterdir():
        old.unlink() if old.is_file() else None
    return target


def prompt(instance: Any, place: int) -> Any:
    """Return the prompt of a row, built as the kit's own driver does."""
    build_prompt = instance.build_prompt
    if not is_video(instance):
        return build_prompt(instance.data.iloc[place])
    return (
        build_prompt(place, False)
        if len(inspect.signature(build_prompt).parameters) > 1
        else build_prompt(place)
    )


def evaluated(instance: Any, eval_file: str, judge: str | None) -> Any:
    """Return the result of `evaluate`."""
    given: dict[str, Any] = {"nproc": 1, "verbose": False, "retry": 1} | (
        {"model": judge} if judge else {}
    )
    parameters = inspect.signature(instance.evaluate).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return instance.evaluate(
        eval_file, **{k: v for k, v in given.items() if takes_any or k in parameters}
    )


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if hasattr(value, "to_dict"):
        return plain(
            value.to_dict("list") if hasattr(value, "columns") else value.to_dict()
        )
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value.item() if hasattr(value, "item") else value
