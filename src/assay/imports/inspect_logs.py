"""Logs of inspect_ai, `.eval` and `.json`, read by inspect_ai itself in a process with limited memory.

A log may be from an untrusted source. The process gets none of the user's keys, its
memory is limited, and it returns only data. Text scores have the same values as in
inspect_ai: C is 1, P is 0.5, I and N are 0.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..core import (
    COUNTED_AS_ZERO,
    ErrorInfo,
    Message,
    Outcome,
    Output,
    Requirement,
    Usage,
)
from . import inspect_worker
from .chat_turns import answer_of, messages_of
from .documents import check_archive, head_of, mapping, number_of, unreadable
from .results import ForeignNumber, ForeignRun, ForeignSample, ForeignScore, ForeignTask

TOOL = "inspect_ai"
INSPECT = Requirement(TOOL, "inspect_ai, which reads its logs,", "assay[inspect]")
MEMORY = 4 << 30
"""Maximum memory of the reading process in bytes: enough to decode and validate a sample of the largest size."""
LONGEST_LINE = 1 << 30
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
MEANS = ("accuracy", "mean")
"""Names of inspect_ai's metrics that are the mean of the values."""
SPREADS = ("stderr", "std", "var", "bootstrap_stderr", "ci_low", "ci_high")
"""Names of inspect_ai's metrics that give the uncertainty of another metric."""
STOP_REASONS = {"max_tokens": "length", "model_length": "length"}
_PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONHOME")
"""Environment variables that a Python process needs. The reading process gets no others, so it has no API keys."""


def is_inspect_log(path: Path) -> bool:
    """Return True for a `.eval` file, or for a JSON file whose first keys are those of a log."""
    if not path.is_file():
        return False
    if path.suffix == ".eval":
        return True
    if path.suffix != ".json":
        return False
    head = head_of(path)
    return all(key in head for key in (b'"status"', b'"eval"', b'"task_id"'))


def read_inspect_log(path: Path) -> ForeignRun:
    """Read the header of a log. Its samples are read only when they are needed."""
    INSPECT.check(str(path))
    if path.suffix == ".eval":
        check_archive(path)
    with _read_lines_of(path) as lines:
        header = next(_documents(path, lines))["header"]
    log = _Log(path, header)
    return log.run()


@contextmanager
def _read_lines_of(path: Path) -> Iterator[IO[bytes]]:
    """Start the process that reads a log, and end it after the block."""
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    command = [sys.executable, "-I", inspect_worker.__file__]
    command += [str(path.resolve()), str(MEMORY)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


def _documents(
    path: Path,
    lines: IO[bytes],
) -> Iterator[dict[str, Any]]:
    """Yield the objects that the process writes. Raise if it reports a fault, or ends before the end of the log."""
    while line := lines.readline(LONGEST_LINE):
        if not line.endswith(b"\n"):
            raise unreadable(path, "one sample is larger than is read")
        document = json.loads(line)
        if "fault" in document:
            raise _fault(path, document)
        if "end" in document:
            return
        yield document
    raise unreadable(path, "the process that read them ended early")


def _fault(
    path: Path,
    document: Mapping[str, Any],
) -> Exception:
    if document["fault"] == "newer":
        return unreadable(
            path,
            "the log is of a newer version than the installed inspect_ai reads",
            "pip install --upgrade inspect_ai",
        )
    if document["fault"] == "memory":
        limit = f"{MEMORY >> 30} GiB"
        return unreadable(
            path,
            f"a sample needs more than {limit} of memory",
            "check where the file comes from",
        )
    return unreadable(path, str(document.get("reason")))


class _Log:
    """A log of inspect_ai, of which only the header was read. Its samples are read when they are needed."""

    def __init__(
        self,
        path: Path,
        header: Mapping[str, Any],
    ) -> None:
        self._path = path
        self._header = header
        self._eval = mapping(header.get("eval"))

    def run(self) -> ForeignRun:
        """Return the log as a run, which has one task."""
        stats = mapping(self._header.get("stats"))
        packages = mapping(self._eval.get("packages"))
        status = self._header.get("status")
        problem = mapping(self._header.get("error")).get("message")
        if status != "success":
            notes = [f"the log says status {status}"]
        else:
            notes = []
        notes += [f"it ended with: {problem}"] if problem else []
        return ForeignRun(
            TOOL,
            str(packages.get(TOOL) or ""),
            (self._task(),),
            stats.get("started_at") or self._eval.get("created"),
            stats.get("completed_at"),
            is_complete=status == "success",
            notes=tuple(notes),
        )

    def _task(self) -> ForeignTask:
        config = mapping(self._eval.get("config"))
        dataset = mapping(self._eval.get("dataset"))
        described = mapping(self._eval.get("metadata"))
        ours = "assay" in mapping(self._eval.get("packages"))
        if ours:
            model = described.get("model")
        else:
            model = self._eval.get("model")
        settings = {
            "options": dict(mapping(self._eval.get("model_generate_config"))),
            "epochs": config.get("epochs") or 1,
            "num_fewshot": described.get("num_fewshot") if ours else None,
            "version": self._eval.get("task_version"),
            "dataset": dataset.get("location") or dataset.get("name"),
        }
        numbers = tuple(stated_numbers(self._header))
        ids = dataset.get("sample_ids")
        return ForeignTask(
            str(self._eval.get("task_display_name") or self._eval.get("task")),
            str(model),
            self._samples,
            numbers,
            {number.metric: number.higher_is_better for number in numbers},
            settings={
                key: value for key, value in settings.items() if value is not None
            },
            n_expected=len(ids) if isinstance(ids, list) else None,
        )

    def _samples(self) -> Iterator[ForeignSample]:
        scorers = [str(mapping(s).get("name")) for s in self._eval.get("scorers") or ()]
        with _read_lines_of(self._path) as lines:
            for document in _documents(self._path, lines):
                if "sample" in document:
                    yield sample_of(document["sample"], scorers)


def stated_numbers(header: Mapping[str, Any]) -> Iterator[ForeignNumber]:
    """Yield the metrics of a log. A metric such as `stderr` is not yielded, but becomes
    the uncertainty of another metric.
    """
    results = mapping(header.get("results"))
    for entry in results.get("scores") or ():
        score = mapping(entry)
        metrics = mapping(score.get("metrics"))
        values: dict[str, float | None] = {}
        for name, metric in metrics.items():
            value = mapping(metric).get("value")
            values[name] = number_of(value)
        for name in values:
            if name not in SPREADS:
                yield _number(score, name, values)


def _number(
    score: Mapping[str, Any],
    metric: str,
    values: Mapping[str, float | None],
) -> ForeignNumber:
    """Return one metric of a scorer. The mean has the scorer's name; other metrics are called `scorer.metric`."""
    more = mapping(score.get("metadata"))
    reducer = score.get("reducer")
    is_reduced = reducer not in (None, "mean")
    is_mean = metric in MEANS and not is_reduced
    name = str(score.get("name"))
    name = _part_name(str(score.get("scorer") or name), name)
    if is_mean:
        label = name
    else:
        label = f"{name}.{metric}"
    low = values.get("ci_low")
    high = values.get("ci_high")
    return ForeignNumber(
        f"{label} ({reducer})" if is_reduced else label,
        values[metric],
        stderr=values.get("stderr"),
        ci=None if low is None or high is None else (low, high),
        interval=str(more.get("interval") or ""),
        n=score.get("scored_samples"),
        outcomes=mapping(more.get("outcomes")),
        flags=tuple(map(str, more.get("flags") or ())),
        higher_is_better=more.get("higher_is_better") is not False,
    )


def sample_of(
    plain: Mapping[str, Any],
    scorers: Sequence[str],
) -> ForeignSample:
    """Return a sample of a log. A failed sample has no verdict.

    If the model gave no answer, the sample has an error.
    """
    error = mapping(plain.get("error")).get("message")
    prompt = _prompt(plain)
    scores = tuple(_scores(mapping(plain.get("scores"))))
    output = _output(mapping(plain.get("output")), plain.get("total_time"))
    if error and not scores:
        outcome = Outcome.JUDGE_ERROR
        if not output.candidates:
            outcome = Outcome.MODEL_ERROR
            output = Output(error=ErrorInfo("sample", str(error), retryable=False))
        details = {"error": str(error)}
        scores = tuple(
            ForeignScore(scorer, {}, outcome, details=details) for scorer in scorers
        )
    metadata = mapping(plain.get("metadata"))
    return ForeignSample(
        str(plain.get("id")),
        output,
        prompt,
        plain.get("target"),
        scores,
        max(0, int(plain.get("epoch") or 1) - 1),
        {
            name: value
            for name, value in metadata.items()
            if isinstance(value, str) and len(value) <= 80
        },
    )


def _prompt(plain: Mapping[str, Any]) -> tuple[Message, ...]:
    """Return the conversation before the last answer. If the log has no conversation,
    return the input of the sample.
    """
    turns = list(plain.get("messages") or ())
    if turns and mapping(turns[-1]).get("role") == "assistant":
        turns.pop()
    return messages_of(turns or plain.get("input"))


def _output(
    plain: Mapping[str, Any],
    seconds: object,
) -> Output:
    choices = [mapping(choice) for choice in plain.get("choices") or ()]
    candidates = tuple(
        answer_of(
            choice.get("message"),
            STOP_REASONS.get(str(choice.get("stop_reason")), choice.get("stop_reason")),
        )
        for choice in choices
    )
    usage = mapping(plain.get("usage"))
    counts = Usage(
        usage.get("input_tokens"),
        usage.get("output_tokens"),
        usage.get("input_tokens_cache_read"),
        usage.get("reasoning_tokens"),
        usage.get("total_cost"),
    )
    return Output(
        candidates,
        usage=counts if usage else None,
        seconds=number_of(plain.get("time", seconds)),
    )


def _scores(scores: Mapping[str, Any]) -> Iterator[ForeignScore]:
    """Yield the verdict of each scorer. A list or an object becomes several values."""
    for scorer, entry in scores.items():
        score = mapping(entry)
        values = dict(_values(scorer, score.get("value")))
        if values:
            outcome = _outcome(score)
        else:
            outcome = Outcome.JUDGE_ERROR

        details = dict(mapping(score.get("metadata")))
        if score.get("explanation"):
            details["explanation"] = score["explanation"]
        answer = score.get("answer")
        if answer is None:
            text = None
        else:
            text = str(answer)
        yield ForeignScore(scorer, values, outcome, text, details)


def _outcome(score: Mapping[str, Any]) -> Outcome:
    """Return the outcome of a score.

    It is the outcome that an export of assay recorded, unparsed for the value N (no
    answer), and scored otherwise.
    """
    reason = score.get("reason")
    for outcome in COUNTED_AS_ZERO:
        if reason == outcome.value:
            return outcome
    if score.get("value") == "N":
        return Outcome.UNPARSED
    return Outcome.SCORED


def _part_name(scorer: str, part: str) -> str:
    """Return the metric name for one of several values: `scorer.part`.

    Names that already have this form, as in exports of assay, are not changed.
    """
    if part == scorer or part.startswith(f"{scorer}."):
        return part
    return f"{scorer}.{part}"


def _values(name: str, value: object) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for part, inner in value.items():
            yield from _values(_part_name(name, part), inner)
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _values(f"{name}.{position}", inner)
    else:
        number = _single_value(value)
        if number is not None:
            yield name, number


def _single_value(value: object) -> float | None:
    """Return the number for a grade such as C, a word such as "yes", or a number; None for anything else."""
    if isinstance(value, str) and value in LETTERS:
        return LETTERS[value]
    if isinstance(value, str) and value.lower() in WORDS:
        return WORDS[value.lower()]
    return number_of(value)
