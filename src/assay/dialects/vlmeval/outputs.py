"""The files VLMEvalKit promises, made from a run: predictions, accuracy tables, `status.json`, links one level up."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core import UNRESOLVED, Result, Sample, ScoreRecord, Task
from ...datasets import open_dataset
from ...datasets.suffix_files import write_table
from ...datasets.tsv_images import LONGEST_REFERENCE, is_blank
from ...runner.result import RunResult
from ...store import RunReader
from ...summarizers.mmvet import CAPABILITIES
from .evaluating import prediction_format
from .facade.dataset.utils.multiple_choice import ABBREVIATIONS
from .places import SNAPSHOT


def write_snapshot(run_folder: Path, samples: Any) -> None:
    """Keeps the rows of a run, so that they can be judged elsewhere."""
    with (run_folder / SNAPSHOT).open("w", encoding="utf-8", errors="backslashreplace") as file:
        for sample in samples:
            if isinstance(sample, Sample):
                row = {name: cell for name, cell in sample.fields.items() if name != "image" or _is_reference(cell)}
                file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")


def _is_reference(cell: Any) -> bool:
    """Whether an image cell names another row: that tells which questions are rotations of one."""
    return not is_blank(cell) and len(str(cell)) <= LONGEST_REFERENCE


def write_files(
    folder: Path, stem: str, task: Task, data: str | None, run_folder: Path, result: RunResult
) -> list[str]:
    """All promised files of one model on one dataset; returns their names."""
    reader = RunReader(run_folder)
    samples = open_dataset(data or task.dataset, to_sample=task.to_sample, where=f"task {task.name!r}")
    if not data:
        write_snapshot(run_folder, samples)
    model = next(cell["model"] for cell in reader.manifest["cells"] if cell["task"] == task.name)
    predictions = f"{stem}.{prediction_format()}"
    columns, rows = _predictions(reader, task.name, model, samples)
    write_table(folder / predictions, columns, rows)
    names = [predictions]
    for scorer in reader.scorers(task.name, model):
        records = reader.scores(task.name, model, scorer)
        names += _score_files(folder, stem, scorer, records, result.results)
    _write_status(folder, task.name, result, names)
    for name in names:
        _link(folder, name)
    return names


def _predictions(reader: RunReader, task: str, model: str, samples: Any) -> tuple[list[str], Iterator[list[Any]]]:
    answers = reader.index.cell(task, model).answers
    first = next((sample for sample in samples if isinstance(sample, Sample)), None)
    own = [name for name in (first.fields if first is not None else ()) if name not in ("image", "prediction")]

    def rows() -> Iterator[list[Any]]:
        for sample in samples:
            stored = answers.get((sample.id, 0)) if isinstance(sample, Sample) else None
            if not stored or stored[-1] is None or stored[-1].failed:
                continue
            candidates = reader.index.output(stored[-1]).output.get("candidates", ())
            text = str(candidates[0].get("text", "")) if candidates else ""
            yield [*(sample.fields.get(name) or None for name in own), text]

    return [*own, "prediction"], rows()


def _score_files(
    folder: Path, stem: str, scorer: str, records: Sequence[ScoreRecord], results: Sequence[Result]
) -> list[str]:
    is_mme = any(r.metric in ("perception", "reasoning", "mme") for r in results)
    if scorer in ("exact_matching", "judge") and not is_mme:
        name = f"{stem}_acc.csv" if scorer == "exact_matching" else f"{stem}_judge_acc.csv"
        columns, rows = accuracy_table(records)
        write_table(folder / name, columns, rows)
        return [name, _result_file(folder, f"{stem}_{scorer}_result.{prediction_format()}", records)]
    if scorer in ("yes_no", "YesNo"):
        categories = _mme_numbers(results)
        if categories:
            write_table(folder / f"{stem}_score.csv", list(categories), [list(categories.values())])
            return [f"{stem}_score.csv"]
    if scorer == "mmvet":
        return _mmvet_files(folder, stem, results)
    return []


def accuracy_table(records: Sequence[ScoreRecord]) -> tuple[list[str], list[list[Any]]]:
    """Accuracy by split: overall, by l2-category and category; rotations count once, torn groups not at all."""
    judged: dict[str, tuple[float, Mapping[str, str]]] = {}
    torn: set[str] = set()
    for record in records:
        key = record.id if record.group is None else f"group {record.group}"
        if record.outcome in UNRESOLVED or record.value is None:
            torn.add(key)
            continue
        before = judged.get(key)
        judged[key] = (record.value if before is None else min(before[0], record.value), record.tags)
    hits = {key: hit for key, hit in judged.items() if key not in torn}
    splits = sorted({tags.get("split", "none") for _, tags in hits.values()})
    names = ["split", "Overall"]
    for tag in ("l2-category", "category"):
        names += sorted({_short(tags[tag]) for _, tags in hits.values() if tag in tags} - set(names))
    rows = []
    for split in splits:
        own = [(value, tags) for value, tags in hits.values() if tags.get("split", "none") == split]
        row: list[Any] = [split, _mean([value for value, _ in own])]
        for name in names[2:]:
            of_name = [v for v, tags in own if name in (_short(tags.get("l2-category", "")), tags.get("category"))]
            row.append(_mean(of_name) if of_name else None)
        rows.append(row)
    return names, rows


def _result_file(folder: Path, name: str, records: Sequence[ScoreRecord]) -> str:
    """What was read off each answer, and whether it was right."""
    rows = ([r.id, r.group, r.answer, r.outcome, r.value, r.details.get("rule")] for r in records)
    write_table(folder / name, ["index", "group", "extracted", "outcome", "hit", "rule"], rows)
    return name


def _mme_numbers(results: Sequence[Result]) -> dict[str, Any]:
    numbers: dict[str, Any] = {}
    for result in results:
        if result.metric in ("perception", "reasoning"):
            numbers[result.metric] = result.value
    for result in results:
        if result.metric in ("perception", "reasoning", "mme"):
            for name, group in sorted(result.groups.get("category", {}).items()):
                numbers[name] = group["value"] if isinstance(group, Mapping) else group.value
    return numbers


def _mmvet_files(folder: Path, stem: str, results: Sequence[Result]) -> list[str]:
    names = []
    for result in results:
        if result.metric != "mmvet":
            continue
        for suffix, kind in (("score", "capability"), ("score_fine", "combination")):
            groups = result.groups.get(kind, {})
            order = [c for c in CAPABILITIES if c in groups] if kind == "capability" else sorted(groups)
            rows = [[name, _of(groups[name], "n"), _of(groups[name], "value")] for name in order]
            name = f"{stem}_judge_{suffix}.csv"
            write_table(folder / name, ["Category", "tot", "acc"], [*rows, ["Overall", result.n, result.value]])
            names.append(name)
    return names


def _of(group: Any, name: str) -> Any:
    return group[name] if isinstance(group, Mapping) else getattr(group, name)


def _write_status(folder: Path, dataset: str, result: RunResult, files: Sequence[str]) -> None:
    path = folder / "status.json"
    status = json.loads(path.read_text("utf-8")) if path.exists() else {}
    status[dataset] = {
        "status": result.status,
        "metrics": {r.metric: r.value for r in result.results},
        "failures": {r.metric: dict(r.outcomes) for r in result.results},
        "files": list(files),
    }
    path.write_text(json.dumps(status, indent=2, ensure_ascii=False, default=str), "utf-8")


def _link(folder: Path, name: str) -> None:
    """A link one level up to the newest file of that name; a real file in its place is left alone."""
    link = folder.parent / name
    if link.is_symlink():
        link.unlink()
    if not link.exists():
        os.symlink(Path(folder.name) / name, link)


def _short(category: str) -> str:
    return ABBREVIATIONS.get(category, category)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
