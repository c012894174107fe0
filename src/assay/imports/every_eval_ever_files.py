"""Files of Every Eval Ever: the file with metrics and their uncertainty, and the files of samples named in it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core import Output, Text
from ..core.output import Candidate
from .chat_turns import messages_of
from .documents import (
    head_of,
    mapping,
    moment_of,
    number_of,
    read_document,
    read_objects,
)
from .results import (
    UNKNOWN,
    ForeignNumber,
    ForeignRun,
    ForeignSample,
    ForeignScore,
    ForeignTask,
    no_samples,
)

TOOL = "Every Eval Ever"
SAMPLES = "_samples.jsonl"
OUTCOME = "outcome."
OURS = "assay"


def is_every_eval_ever(path: Path) -> bool:
    """Return True for the JSON file of one evaluation, by its required keys."""
    if not path.is_file() or path.suffix != ".json":
        return False
    head = head_of(path)
    return b'"schema_version"' in head and b'"evaluation_id"' in head


def files_of(path: Path) -> list[Path]:
    """Return the file of an evaluation, and the file of its samples if that exists."""
    samples = path.with_name(f"{path.stem}{SAMPLES}")
    if samples.is_file():
        return [path, samples]
    return [path]


def read_every_eval_ever(path: Path) -> ForeignRun:
    """Read one evaluation of one model. Each evaluation name in the file becomes a task."""
    document = read_document(path)
    entries = [mapping(entry) for entry in document.get("evaluation_results") or ()]
    model = str(mapping(document.get("model_info")).get("name") or UNKNOWN)
    samples = files_of(path)[1:]
    by_task: dict[str, list[Mapping[str, Any]]] = {}
    for entry in entries:
        by_task.setdefault(str(entry.get("evaluation_name")), []).append(entry)
    library = mapping(document.get("eval_library"))
    tasks = tuple(
        _task(name, model, members, samples) for name, members in by_task.items()
    )
    moment = moment_of(document.get("evaluation_timestamp"))
    maker = str(library.get("name") or UNKNOWN)
    note = f"made by {maker} {library.get('version') or ''}".strip()
    return ForeignRun(
        TOOL,
        str(document.get("schema_version") or ""),
        tasks,
        moment,
        moment,
        notes=(note,),
    )


def _task(
    name: str,
    model: str,
    entries: list[Mapping[str, Any]],
    samples: list[Path],
) -> ForeignTask:
    metrics = {str(e.get("evaluation_result_id")): _metric(e) for e in entries}
    numbers = tuple(_number(entry) for entry in entries)
    expected = [n.n_expected for n in numbers if n.n_expected is not None]
    options = mapping(entries[0].get("generation_config")).get("generation_args")
    return ForeignTask(
        name,
        model,
        _Samples(samples[0], name, metrics) if samples else no_samples,
        numbers,
        {number.metric: number.higher_is_better for number in numbers},
        frozenset(_metric(entry) for entry in entries if _is_share(entry)),
        {"options": dict(mapping(options))},
        max(expected) if expected else None,
    )


def _metric(entry: Mapping[str, Any]) -> str:
    """Return the name of the metric in an entry: its name or id, or `score` if it has neither."""
    config = mapping(entry.get("metric_config"))
    return str(config.get("metric_name") or config.get("metric_id") or "score")


def _is_share(entry: Mapping[str, Any]) -> bool:
    config = mapping(entry.get("metric_config"))
    return (config.get("min_score"), config.get("max_score")) == (0.0, 1.0)


def _number(entry: Mapping[str, Any]) -> ForeignNumber:
    details = mapping(entry.get("score_details"))
    uncertainty = mapping(details.get("uncertainty"))
    interval = mapping(uncertainty.get("confidence_interval"))
    ends = number_of(interval.get("lower")), number_of(interval.get("upper"))
    texts = mapping(details.get("details"))
    count = number_of(texts.get("n", uncertainty.get("num_samples")))
    expected = number_of(texts.get("n_expected"))
    outcomes = {
        key.removeprefix(OUTCOME): int(number_of(value) or 0)
        for key, value in texts.items()
        if key.startswith(OUTCOME)
    }
    flags = str(texts.get("flags") or "")
    config = mapping(entry.get("metric_config"))
    stderr = mapping(uncertainty.get("standard_error")).get("value")
    return ForeignNumber(
        _metric(entry),
        number_of(details.get("score")),
        stderr=number_of(stderr),
        ci=(ends[0], ends[1]) if ends[0] is not None and ends[1] is not None else None,
        interval=str(interval.get("method") or ""),
        n=None if count is None else int(count),
        n_expected=None if expected is None else int(expected),
        outcomes=outcomes,
        flags=tuple(flags.split("; ")) if flags else (),
        higher_is_better=not config.get("lower_is_better"),
    )


class _Samples:
    """A function that yields the samples of one task. The file has a row for each sample, epoch and metric."""

    def __init__(
        self,
        file: Path,
        task: str,
        metrics: Mapping[str, str],
    ) -> None:
        self._file = file
        self._task = task
        self._metrics = metrics

    def __call__(self) -> Iterator[ForeignSample]:
        last: tuple[str, int] | None = None
        for _, row in read_objects(self._file):
            if str(row.get("evaluation_name")) != self._task:
                continue
            id = str(row.get("sample_id"))
            epoch = _epoch(row)
            scores = tuple(self._scores(row))
            if (id, epoch) == last:
                yield ForeignSample(id, scores=scores, epoch=epoch)
            else:
                yield _sample(row, id, epoch, scores)
            last = id, epoch

    def _scores(self, row: Mapping[str, Any]) -> Iterator[ForeignScore]:
        evaluation = mapping(row.get("evaluation"))
        value = number_of(evaluation.get("score"))
        if value is None:
            return
        result_id = str(row.get("evaluation_result_id"))
        metric = self._metrics.get(result_id)
        if metric is None:
            metric = next(iter(self._metrics.values()))

        extracted = None
        for attribution in row.get("answer_attribution") or ():
            extracted = mapping(attribution).get("extracted_value")
        if extracted is None:
            answer = None
        else:
            answer = str(extracted)
        yield ForeignScore(metric, {metric: value}, answer=answer)


def _epoch(row: Mapping[str, Any]) -> int:
    number = number_of(mapping(row.get("metadata")).get("epoch"))
    return 0 if number is None else int(number)


def _sample(
    row: Mapping[str, Any],
    id: str,
    epoch: int,
    scores: tuple[ForeignScore, ...],
) -> ForeignSample:
    question = mapping(row.get("input"))
    turns = row.get("messages") or question.get("raw") or ""
    references = question.get("reference")
    if references == []:
        references = None
    elif isinstance(references, list) and len(references) == 1:
        references = references[0]

    candidates = []
    for answer in _answers(row):
        text = Text(str(answer))
        candidates.append(Candidate((text,)))
    return ForeignSample(
        id=id,
        output=Output(tuple(candidates)),
        prompt=messages_of(turns),
        target=references,
        scores=scores,
        epoch=epoch,
    )


def _answers(row: Mapping[str, Any]) -> list[Any]:
    """Return the answers in a row. There may be none."""
    raw = mapping(row.get("output")).get("raw")
    if raw is None:
        return []
    if isinstance(raw, list):
        return raw
    return [raw]
