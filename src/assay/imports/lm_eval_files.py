"""Results of lm-eval: `results_*.json`, and the `samples_*.jsonl` that `--log_samples` writes.

Metrics have the same names as when assay runs tasks of lm-eval: the metric, and the
filter unless it is `none`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import Likelihood, Message, Output, Text
from ..core.output import Candidate
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

TOOL = "lm-eval"
NO_FILTER = "none"
SHARES = frozenset(
    {"acc", "acc_norm", "acc_bytes", "acc_mutual_info", "exact_match", "em"}
)
"""Names of metrics whose values are between 0 and 1."""
SAMPLE_KEYS = (b'"doc_id"', b'"filtered_resps"')


def is_lm_eval(path: Path) -> bool:
    """Return True for a results file, a samples file, or a folder with a results file."""
    if path.is_dir():
        return bool(_results_files(path))
    if path.suffix == ".jsonl":
        return all(key in head_of(path) for key in SAMPLE_KEYS)
    if path.suffix != ".json":
        return False
    head = head_of(path)
    return b'"results"' in head and (
        b'"n-shot"' in head or b'"configs"' in head or b'"group_subtasks"' in head
    )


def files_of(path: Path) -> list[Path]:
    """Return the files to read for a path: the newest results of a folder, and their samples."""
    if path.is_dir():
        path = _results_files(path)[-1]
    if path.suffix == ".jsonl":
        return [path]
    return [path, *sorted(path.parent.glob(f"samples_*{_moment_of(path)}.jsonl"))]


def _results_files(folder: Path) -> list[Path]:
    """Return the results files of a folder, or of the model folders in it, the newest last."""
    files = [*folder.glob("results_*.json"), *folder.glob("*/results_*.json")]
    return sorted(files, key=lambda file: file.name)


def _moment_of(results: Path) -> str:
    """Return the time stamp in a file name, which is the same for results and samples
    of one run; empty if there is none.
    """
    return results.stem.removeprefix("results")


def read_lm_eval(path: Path) -> ForeignRun:
    """Read a run of lm-eval. If only samples exist, read those of one task."""
    first, *samples_files = files_of(path)
    if first.suffix == ".jsonl":
        name = first.stem.removeprefix("samples_")
        task = ForeignTask(_without_moment(name), UNKNOWN, _Samples(first))
        return ForeignRun(TOOL, "", (task,))

    document = read_document(first)
    ending = _moment_of(first)
    by_task = {}
    for file in samples_files:
        task_name = file.stem.removeprefix("samples_").removesuffix(ending)
        by_task[task_name] = file
    reading = _Results(document, by_task)
    names = mapping(document.get("results"))
    tasks = tuple(reading.task(str(name)) for name in names)
    moment = moment_of(document.get("date"))
    version = str(document.get("lm_eval_version") or "")
    return ForeignRun(TOOL, version, tasks, moment, moment)


def _without_moment(name: str) -> str:
    """Return the task's name in a file name such as `TASK_2026-01-31T10-00-00.5`."""
    task, _, moment = name.rpartition("_")
    if task and moment[:2].isdecimal() and "T" in moment:
        return task
    return name


def label_of(metric: str, filter_name: str) -> str:
    """Return assay's name for a metric: the metric alone, or with its filter as in `acc,strict`."""
    if filter_name == NO_FILTER:
        return metric
    return f"{metric},{filter_name}"


class _Results:
    """A results file, with the samples files of each task."""

    def __init__(
        self,
        document: Mapping[str, Any],
        samples: Mapping[str, Path],
    ):
        self._document = document
        self._samples = samples

    def task(self, name: str) -> ForeignTask:
        """Return one task or group with its metrics, and with its samples if they were logged."""
        file = self._samples.get(name) or self._samples.get(name.replace("/", "__"))
        config = mapping(self._part("configs", name))
        numbers = tuple(self._numbers(name, config))
        counts = mapping(self._part("n-samples", name))
        expected = number_of(counts.get("effective"))
        directions = {number.metric: number.higher_is_better for number in numbers}
        settings = {
            "num_fewshot": self._part("n-shot", name),
            "options": dict(mapping(config.get("generation_kwargs"))),
            "version": self._part("versions", name),
        }
        return ForeignTask(
            name,
            self._model(),
            _Samples(file) if file is not None else no_samples,
            numbers,
            directions,
            frozenset(label for label in directions if label.split(",")[0] in SHARES),
            {key: value for key, value in settings.items() if value is not None},
            None if expected is None else int(expected),
        )

    def _part(self, key: str, name: str) -> object:
        return mapping(self._document.get(key)).get(name)

    def _model(self) -> str:
        config = mapping(self._document.get("config"))
        named = self._document.get("model_name") or config.get("model")
        return str(named or UNKNOWN)

    def _numbers(
        self,
        name: str,
        config: Mapping[str, Any],
    ) -> Iterator[ForeignNumber]:
        """Yield the metrics of a task.

        In files exported by assay, the metadata of the task also has the intervals and
        counts.
        """
        directions = mapping(self._part("higher_is_better", name))
        metadata = mapping(config.get("metadata"))
        described = mapping(metadata.get("numbers"))
        row = mapping(self._part("results", name))
        counts = mapping(row.get("sample_count"))
        for key, value in row.items():
            metric, comma, filter_name = key.partition(",")
            if not comma or metric.endswith("_stderr"):
                continue
            more = mapping(described.get(metric))
            count = number_of(more.get("n", counts.get(key, row.get("sample_len"))))
            expected = number_of(more.get("n_expected"))
            ends = more.get("ci") or ()
            yield ForeignNumber(
                label_of(metric, filter_name),
                number_of(value),
                stderr=number_of(row.get(f"{metric}_stderr,{filter_name}")),
                ci=_pair(ends),
                interval=str(more.get("interval") or ""),
                n=None if count is None else int(count),
                n_expected=None if expected is None else int(expected),
                outcomes=mapping(more.get("outcomes")),
                flags=tuple(map(str, more.get("flags") or ())),
                higher_is_better=directions.get(metric) is not False,
            )


def _pair(ends: object) -> tuple[float, float] | None:
    """Return the low and high end of an interval as numbers; None unless there are two numbers."""
    if not isinstance(ends, Sequence) or len(ends) != 2:
        return None
    low = number_of(ends[0])
    high = number_of(ends[1])
    if low is None or high is None:
        return None
    return (low, high)


class _Samples:
    """A callable that yields the samples of one task.

    If the file has lines for several filters, the later ones only add verdicts to
    samples.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def __call__(self) -> Iterator[ForeignSample]:
        first_filter = None
        for _, row in read_objects(self._file):
            filter_name = str(row.get("filter", NO_FILTER))
            first_filter = first_filter or filter_name
            scores = tuple(_scores(row, filter_name))
            id = str(row.get("doc_id"))
            if filter_name != first_filter:
                yield ForeignSample(id, scores=scores)
                continue
            contexts, continuations = _arguments(row)
            prompt = tuple(Message("", (Text(text),)) for text in contexts)
            yield ForeignSample(
                id,
                _output(row),
                prompt,
                row.get("target"),
                scores,
                continuations=continuations,
            )


def _arguments(row: Mapping[str, Any]) -> tuple[list[str], tuple[str, ...]]:
    """Return the distinct prompts of a sample, and its continuations with likelihoods."""
    requests = mapping(row.get("arguments")).values()
    contexts: dict[str, None] = {}
    continuations = []
    for request in requests:
        request = mapping(request)
        if isinstance(request.get("arg_0"), str):
            contexts[request["arg_0"]] = None
        if isinstance(request.get("arg_1"), str):
            continuations.append(request["arg_1"])
    return list(contexts), tuple(continuations)


def _output(row: Mapping[str, Any]) -> Output:
    """Return the answer to a sample: the generated texts, or the likelihoods of the options."""
    answers: list[Any] = []
    for responses in row.get("resps") or ():
        if isinstance(responses, list):
            answers += responses
        else:
            answers.append(responses)

    candidates: list[Candidate] = []
    likelihoods: list[Likelihood] = []
    for answer in answers:
        if isinstance(answer, str):
            candidates.append(Candidate((Text(answer),)))
        elif isinstance(answer, list) and answer:
            logprob = float(str(answer[0]))
            is_greedy = str(answer[-1]) == "True"
            likelihoods.append(Likelihood(logprob, is_greedy))
    return Output(tuple(candidates), likelihoods=tuple(likelihoods))


def _scores(
    row: Mapping[str, Any],
    filter_name: str,
) -> Iterator[ForeignScore]:
    """Yield the metrics of one sample. Metrics of the whole dataset have no value for a sample."""
    answer = None
    filtered = row.get("filtered_resps")
    if isinstance(filtered, list) and filtered:
        first = filtered[0]
        if isinstance(first, str):
            answer = first
        else:
            answer = None

    for metric in row.get("metrics") or ():
        value = number_of(row.get(metric))
        if value is None:
            continue
        label = label_of(str(metric), filter_name)
        yield ForeignScore(label, {label: value}, answer=answer)
