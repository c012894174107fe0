"""The tables VLMEvalKit writes beside its predictions: accuracy, prefetched letters, matched yes and no, grades."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core import UNRESOLVED, Output, Result, Sample, ScoreRecord
from ...datasets.suffix_files import dump_by_suffix, write_table
from ...scorers.choice.yes_no import YesNo
from ...store.file_ledger import FileLedger
from ...summarizers.mmvet import CAPABILITIES
from .facade.dataset.utils.multiple_choice import ABBREVIATIONS
from .formats import evaluation_format, prediction_format
from .scoring import ExactMatching

PREFETCH = ("Category", "tot", "match", "hit", "match_rate", "acc")
SAID = {"yes": "Yes", "no": "No"}


def put_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Writes a table, unless that would replace one that assay did not write."""
    write_table(FileLedger(path.parent).claim(path), columns, rows)


def choice_files(
    folder: Path, stem: str, scorer: str, judge: str, records: Sequence[ScoreRecord]
) -> list[str]:
    """Accuracy by split and category, and what was read off each answer: by rules, or with the judge's help."""
    is_judged = scorer == "judge"
    label = f"{stem}_{judge}" if is_judged else stem
    accuracy = f"{label}_acc.{evaluation_format()}"
    columns, rows = accuracy_table(records)
    put_table(folder / accuracy, columns, rows)
    result = f"{stem}_{judge if is_judged else scorer}_result"
    table = f"{result}.{prediction_format()}"
    cells = ([r.id, r.group, r.answer, r.outcome, r.value, r.details.get("rule")] for r in records)
    put_table(folder / table, ["index", "group", "extracted", "outcome", "hit", "rule"], cells)
    dump_by_suffix(_by_question(records), FileLedger(folder).claim(folder / f"{result}.pkl"))
    return [accuracy, table, f"{result}.pkl"]


def _by_question(records: Sequence[ScoreRecord]) -> dict[Any, dict[str, Any]]:
    """`{index: {"hit": 0 or 1, "log": …}}` of each question; one that could not be judged is left out."""
    made: dict[Any, dict[str, Any]] = {}
    for key, (hit, _, members) in _questions(records).items():
        log = "; ".join(f"{r.id}: {r.answer or r.outcome} ({r.details.get('rule')})" for r in members)
        made[int(key) if key.isdigit() else key] = {"hit": int(hit), "log": log}
    return made


def _questions(
    records: Sequence[ScoreRecord],
) -> dict[str, tuple[float, Mapping[str, str], list[ScoreRecord]]]:
    """Questions with their worst rotation, by group; those a rotation of which could not be judged left out."""
    members: dict[str, list[ScoreRecord]] = {}
    for record in records:
        members.setdefault(record.id if record.group is None else record.group, []).append(record)
    whole = {
        key: own for key, own in members.items()
        if all(r.outcome not in UNRESOLVED and r.value is not None for r in own)
    }  # fmt: skip
    return {key: (min(r.value or 0.0 for r in own), own[-1].tags, own) for key, own in whole.items()}


def accuracy_table(records: Sequence[ScoreRecord]) -> tuple[list[str], list[list[Any]]]:
    """Accuracy by split: overall, by l2-category and category; rotations count once, torn groups not at all."""
    hits = [(hit, tags) for hit, tags, _ in _questions(records).values()]
    splits = sorted({tags.get("split", "none") for _, tags in hits})
    names = ["split", "Overall"]
    for tag in ("l2-category", "category"):
        names += sorted({_short(tags[tag]) for _, tags in hits if tag in tags} - set(names))
    rows = []
    for split in splits:
        own = [(value, tags) for value, tags in hits if tags.get("split", "none") == split]
        row: list[Any] = [split, _mean([value for value, _ in own])]
        for name in names[2:]:
            of_name = [v for v, tags in own if name in (_short(tags.get("l2-category", "")), tags.get("category"))]
            row.append(_mean(of_name) if of_name else None)
        rows.append(row)
    return names, rows


def prefetch_file(folder: Path, stem: str, answered: Iterable[tuple[Sample, str]]) -> list[str]:
    """How many answers the rules can read, and how many of *those* are right: `acc` is of the matched alone."""
    counts: dict[str, list[int]] = {"Overall": [0, 0, 0]}
    for sample, text in answered:
        if sample.target is None:
            continue
        score = ExactMatching()(sample, Output.of(text))
        for category in ("Overall", str(sample.tags.get("category", ""))):
            if category:
                own = counts.setdefault(category, [0, 0, 0])
                own[0] += 1
                own[1] += score.answer is not None
                own[2] += score.answer is not None and score.value == 1.0
    if not counts["Overall"][0]:
        return []
    rows = [
        [name, total, match, hit, 100 * match / total, 100 * hit / match if match else 0.0]
        for name, (total, match, hit) in counts.items()
    ]
    put_table(folder / f"{stem}_prefetch.xlsx", PREFETCH, rows)
    return [f"{stem}_prefetch.xlsx"]


def yes_no_cells(sample: Sample, text: str) -> list[Any]:
    """`prediction` as Yes, No or Unknown, `raw_prediction` as the model wrote it, and whether it is right."""
    score = YesNo()(sample, Output.of(text))
    said = SAID.get(str(score.answer), "Unknown")
    return [said, text, score.value == 1.0]


def mme_files(
    folder: Path,
    stem: str,
    records: Sequence[ScoreRecord],
    results: Sequence[Result],
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
) -> list[str]:
    """The predictions after the judge has matched what the words left open, and the sums of MME."""
    read = {r.id: SAID.get(str(r.answer), "Unknown") for r in records}
    names = []
    index, prediction, score = (list(columns).index(name) for name in ("index", "prediction", "score"))
    right = {r.id: r.value == 1.0 for r in records}

    def matched() -> Iterable[list[Any]]:
        for row in rows:
            cells = list(row)
            id_ = str(cells[index])
            cells[prediction], cells[score] = read.get(id_, "Unknown"), right.get(id_, False)
            yield cells

    put_table(folder / f"{stem}_auxmatch.xlsx", columns, matched())
    names.append(f"{stem}_auxmatch.xlsx")
    numbers = _mme_numbers(results)
    if numbers:
        names.append(f"{stem}_score.{evaluation_format()}")
        put_table(folder / names[-1], list(numbers), [list(numbers.values())])
    return names


def _mme_numbers(results: Sequence[Result]) -> dict[str, Any]:
    numbers: dict[str, Any] = {}
    for result in results:
        if result.metric in ("perception", "reasoning"):
            numbers[result.metric] = result.value
    for result in results:
        if result.metric in ("perception", "reasoning", "mme"):
            for name, group in sorted(result.groups.get("category", {}).items()):
                numbers[name] = _of(group, "value")
    return numbers


def mmvet_files(
    folder: Path,
    stem: str,
    judge: str,
    records: Sequence[ScoreRecord],
    results: Sequence[Result],
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
) -> list[str]:
    """Every prediction with its grade and what the judge said; means by capability and by combination."""
    graded = {record.id: record for record in records}
    index = list(columns).index("index")
    table = f"{stem}_{judge}.{prediction_format()}"
    cells = ([*row, *_grade(graded.get(str(row[index])))] for row in rows)
    put_table(folder / table, [*columns, "log", "score"], cells)
    names = [table]
    for result in results:
        if result.metric != "mmvet":
            continue
        for suffix, kind in (("score", "capability"), ("score_fine", "combination")):
            groups = result.groups.get(kind, {})
            order = [c for c in CAPABILITIES if c in groups] if kind == "capability" else sorted(groups)
            means = [[name, _of(groups[name], "n"), _of(groups[name], "value")] for name in order]
            names.append(f"{stem}_{judge}_{suffix}.{evaluation_format()}")
            put_table(folder / names[-1], ["Category", "tot", "acc"], [*means, ["Overall", result.n, result.value]])
    return names


def _grade(record: ScoreRecord | None) -> list[Any]:
    if record is None:
        return ["", None]
    return ["\n".join(str(reply) for reply in record.details.get("replies", ())), record.value]


def _of(group: Any, name: str) -> Any:
    return group[name] if isinstance(group, Mapping) else getattr(group, name)


def _short(category: str) -> str:
    return ABBREVIATIONS.get(category, category)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
