"""lm-eval tasks through assay against `lm_eval.evaluator.evaluate`: the same requests, numbers and logged samples.

    python lm_eval_parity.py [--per_family 2] [--families hellaswag,gsm8k] [--chat] [--shots N]

Rows are made up from what each task reads, so no data is needed. One scripted model answers both sides: what it says
depends on the request alone. Requests are compared as texts, numbers to 1e-9. A task for which no made-up rows fit, or
whose helper module needs a package that is missing, is counted apart.
"""

import argparse
import collections
import contextlib
import hashlib
import io
import json
import logging
import math
import os
import re
import signal
import tempfile
import warnings
import wave
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy
from PIL import Image

os.environ.update(
    HF_DATASETS_OFFLINE="1",
    HF_HUB_OFFLINE="1",
    HF_EVALUATE_OFFLINE="1",
    TQDM_DISABLE="1",
)

from lm_eval_rows import ROWS_NEEDED, written_rows
from made_up_rows import (
    MOST_COLUMNS_ADDED,
    ROWS,
    STRATEGIES,
    columns_of,
    lacking_column,
    number_of,
    rows_for,
)

import assay
from assay.core import Abilities, AssayError, Likelihood, Output, Request
from assay.dialects.harness.random_state import OTHER_SEED, RandomState
from assay.dialects.harness.task_index import IndexEntry, installed_index
from assay.dialects.harness.task_yaml import merged_yaml
from assay.dialects.lm_eval import lm_eval_package as package
from assay.dialects.lm_eval.claims import LIBRARY
from assay.dialects.lm_eval.code_metrics import sandboxed_code_eval

ASKED = 3
TOLERANCE = 1e-9


@dataclass
class Side:
    """What one of the two tools did with a task."""

    requests: list[str]
    numbers: dict[str, float]
    samples: list[dict[str, Any]]
    """The lines of `--log_samples`."""


def said(context: str) -> str:
    """Return what the scripted model generates."""
    number = number_of(context)
    return f"The answer is ({'ABCD'[number % 4]}). #### {number % 50}"


def weighed(context: str, continuation: str) -> tuple[float, bool]:
    """Return what the scripted model says about a continuation."""
    number = number_of(f"{context}\0{continuation}")
    return -(number % 1000) / 100 - 0.5, number % 3 == 0


def rolled(text: str) -> float:
    """Return what the scripted model says about a whole text."""
    return -(number_of(text) % 1000) / 10 - 0.5


class AssayModel:
    """The scripted model as assay asks it."""

    abilities = Abilities(
        frozenset({"text", "image", "audio"}), likelihood=True, roles="any", chat=True
    )
    identity: Mapping[str, Any] = {"scripted": "lm_eval_parity"}

    def __init__(self) -> None:
        self.seen: list[str] = []

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        outputs = []
        for request in requests:
            context = _context(request)
            self.seen.append(f"generate\0{context}\0{sorted(request.options.stop)}")
            outputs.append(Output.of(said(context)))
        return outputs

    def likelihood(self, requests: Sequence[Request]) -> list[Output]:
        return [self._weigh(request) for request in requests]

    def _weigh(self, request: Request) -> Output:
        context = _context(request)
        if request.prompt.rolling:
            self.seen.append(f"rolling\0{context}")
            return Output(likelihoods=(Likelihood(rolled(context)),))
        found = []
        for continuation in request.prompt.continuations or ():
            self.seen.append(f"weigh\0{context}\0{continuation}")
            found.append(Likelihood(*weighed(context, continuation)))
        return Output(likelihoods=tuple(found))


def _context(request: Request) -> str:
    """Return a prompt as lm-eval passes it: marks in the text, media apart."""
    messages = request.messages
    media = [
        part for message in messages for part in message.parts if part.kind != "text"
    ]
    texts = [_marked_text(message) for message in messages]
    if all(message.role == "" for message in messages):
        return "".join(texts) + _digests(map(_own_pixels, media))
    turns = [
        {"role": message.role, "content": text}
        for message, text in zip(messages, texts, strict=True)
    ]
    return json.dumps(turns, ensure_ascii=False) + _digests(map(_own_pixels, media))


def _marked_text(message: Any) -> str:
    pieces = [
        part.text if part.kind == "text" else f"<{part.kind}>" for part in message.parts
    ]
    return "".join(pieces)


def _digests(media: Iterable[bytes]) -> str:
    return "".join(f"\0{hashlib.sha256(data).hexdigest()}" for data in media)


def _own_pixels(part: Any) -> bytes:
    """Return the pixels of an image or the samples of a clip in a prompt."""
    data = part.data()
    if part.kind == "image":
        return _pixels(Image.open(io.BytesIO(data)))
    with wave.open(io.BytesIO(data)) as file:
        return file.readframes(file.getnframes())


def _pixels(image: Any) -> bytes:
    return repr(image.size).encode() + image.convert("RGB").tobytes()


def _their_media(arguments: Sequence[Any]) -> str:
    """Return the digests of the media that lm-eval passes beside a text."""
    last = arguments[-1]
    if not isinstance(last, Mapping) or not {"visual", "audio"} & last.keys():
        return ""
    media = [_pixels(image) for image in last.get("visual") or ()]
    for clip in last.get("audio") or ():
        samples = numpy.asarray(clip["array"], dtype="float64") * 32768
        samples = numpy.clip(samples.round(), -32768, 32767)
        media.append(samples.astype("<i2").tobytes())
    return _digests(media)


def scripted_lm() -> Any:
    """Return the scripted model as lm-eval asks it."""

    class Scripted(package.module("api.model").LM):  # type: ignore[misc]
        MULTIMODAL = True

        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def loglikelihood(self, requests: Any, **_: Any) -> list[tuple[float, bool]]:
            self.seen += [f"weigh\0{r.args[0]}\0{r.args[1]}" for r in requests]
            return [weighed(str(r.args[0]), str(r.args[1])) for r in requests]

        def loglikelihood_rolling(self, requests: Any, **_: Any) -> list[float]:
            self.seen += [f"rolling\0{r.args[0]}" for r in requests]
            return [rolled(str(r.args[0])) for r in requests]

        def generate_until(self, requests: Any, **_: Any) -> list[str]:
            answers = []
            for request in requests:
                until = request.args[1].get("until") or []
                stops = [until] if isinstance(until, str) else list(until)
                stops = sorted(stop for stop in stops if stop)
                context = f"{request.args[0]}{_their_media(request.args)}"
                self.seen.append(f"generate\0{context}\0{stops}")
                answers.append(said(context))
            return answers

        def apply_chat_template(
            self, history: Any, add_generation_prompt: bool = True
        ) -> str:
            return json.dumps(list(history), ensure_ascii=False)

        @property
        def tokenizer_name(self) -> str:
            return "scripted"

    return Scripted()


class HubMetric:
    """Stands in for a metric of `evaluate` that would be downloaded.

    Its numbers depend on the texts alone, so that both sides must pass it the same texts.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def compute(
        self, predictions: Any = None, references: Any = None, **_: Any
    ) -> dict[str, Any]:
        share = number_of(repr((self.name, predictions, references))) % 1000 / 1000
        names = (self.name, "bleu", "rouge1", "rouge2", "rougeL", "rougeLsum", "exact")
        lists = {"scores": [share], "precision": [share], "recall": [share]}
        return {**dict.fromkeys(names, share), **lists, "f1": [share]}


def stand_in_for_hub_metrics() -> None:
    """Give tasks stand-ins for the metrics that live on the hub."""
    import evaluate

    evaluate.load = lambda name, *_, **__: HubMetric(name)


@cache
def their_manager() -> Any:
    """Return lm-eval's own index of all tasks."""
    return package.module("tasks").TaskManager()


@contextlib.contextmanager
def serving(rows: list[dict[str, Any]], folder: Path) -> Iterator[None]:
    """Give whatever a task downloads these rows, in every split.

    From disk, as downloaded data is: `datasets` then keeps what a task's `process_docs` made of it.
    """
    import datasets

    saved = tempfile.mkdtemp(dir=folder)
    datasets.Dataset.from_list(rows).save_to_disk(saved)
    data = datasets.load_from_disk(saved)
    original = datasets.load_dataset

    def load(*_: Any, split: str | None = None, **__: Any) -> Any:
        return collections.defaultdict(lambda: data) if split is None else data

    datasets.load_dataset = load
    try:
        yield
    finally:
        datasets.load_dataset = original


def by_lm_eval(
    entry: IndexEntry,
    rows: list[dict[str, Any]],
    folder: Path,
    options: argparse.Namespace,
) -> Side:
    """Return the requests, numbers and logged samples of lm-eval's own `evaluate`."""
    package.forget_helpers(Path(entry.path).parent)
    state = RandomState()
    with serving(rows, folder), sandboxed_code_eval(), state.active():
        task = their_manager().load([entry.name])["tasks"][entry.name]
    shots = options.shots if task.config.num_fewshot != 0 else 0
    task.set_config(key="num_fewshot", value=shots)
    task.set_fewshot_seed(seed=OTHER_SEED)
    lm = scripted_lm()
    with state.active():
        found = package.module("evaluator").evaluate(
            lm=lm,
            task_dict={entry.name: task},
            limit=asked_of(entry),
            bootstrap_iters=0,
            log_samples=True,
            apply_chat_template=options.chat,
            fewshot_as_multiturn=options.chat,
            confirm_run_unsafe_code=True,
        )
    numbers = {}
    for key, value in found["results"][entry.name].items():
        metric, comma, filter_name = key.partition(",")
        if comma and not metric.endswith("_stderr") and isinstance(value, (int, float)):
            label = metric if filter_name == "none" else key
            numbers[label] = float(value)
    numbers.pop("bypass", None)
    samples = logged_by_lm_eval(entry.name, found["samples"][entry.name], folder)
    return Side(lm.seen, numbers, samples)


def logged_by_lm_eval(name: str, samples: Any, folder: Path) -> list[dict[str, Any]]:
    """Return the lines that lm-eval's `--log_samples` writes."""
    output = Path(tempfile.mkdtemp(dir=folder))
    tracker = package.module("loggers").EvaluationTracker(output_path=str(output))
    tracker.general_config_tracker.model_name_sanitized = "scripted"
    tracker.date_id = "now"
    tracker.save_results_samples(name.replace("/", "__"), samples)
    [file] = output.rglob("samples_*.jsonl")
    return read_lines(file)


def read_lines(file: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSONL file."""
    text = file.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def asked_of(entry: IndexEntry) -> int:
    """Return how many rows of a task are asked."""
    return 40 if entry.family == "discrim_eval" else ASKED


def write_rows(rows: list[dict[str, Any]], folder: Path) -> Path:
    """Write rows as a user would: JSON lines, or Parquet where they hold images."""
    has_images = any(hasattr(value, "convert") for value in rows[0].values())
    if not has_images:
        data = folder / "rows.jsonl"
        data.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        return data
    import datasets

    data = folder / "rows.parquet"
    datasets.Dataset.from_list(rows).to_parquet(data)
    return data


def by_assay(
    entry: IndexEntry,
    rows: list[dict[str, Any]],
    folder: Path,
    options: argparse.Namespace,
) -> Side:
    """Return the requests, numbers and logged samples of an assay run."""
    data = write_rows(rows, folder)
    model = AssayModel()
    shots = 0 if entry.num_fewshot == 0 else options.shots
    settings: dict[str, Any] = {"num_fewshot": shots}
    if options.chat:
        settings["apply_chat_template"] = True
    with tempfile.TemporaryDirectory() as output:
        result = assay.run(
            f"lm_eval/{entry.name}",
            model=model,
            data=str(data),
            fewshot_data=str(data),
            limit=asked_of(entry),
            output=output,
            on_error="stop",
            log_samples=True,
            **settings,
        )
        files = list(Path(output).rglob("samples_*.jsonl"))
        samples = read_lines(files[0]) if files else []
    numbers = {row.metric: row.value for row in result.results}
    filled = {
        key: math.nan if value is None else value for key, value in numbers.items()
    }
    return Side(model.seen, filled, samples)


def first_side(
    entry: IndexEntry,
    columns: set[str],
    strategy: str,
    kind: str,
    folder: Path,
    options: argparse.Namespace,
) -> tuple[list[dict[str, Any]], Side]:
    """Return rows that lm-eval accepts, and what it does with them; a column that is lacking is added."""
    count = ROWS_NEEDED.get(entry.family, ROWS)
    written = written_rows(entry.name, count) if strategy == STRATEGIES[0] else None
    if written is not None:
        return written, by_lm_eval(entry, written, folder, options)
    for _ in range(MOST_COLUMNS_ADDED):
        rows = rows_for(columns, strategy, kind)
        try:
            return rows, by_lm_eval(entry, rows, folder, options)
        except Exception as error:
            column = lacking_column(error)
            if column is None or column in columns:
                raise
            columns.add(column)
    raise ValueError("too many columns are lacking")


def compare(
    entry: IndexEntry, folder: Path, options: argparse.Namespace
) -> tuple[str, str]:
    """Return whether both sides agree on a task, or why it could not be tried."""
    columns = columns_of(entry, merged_yaml(entry.path, LIBRARY))
    reason = ""
    functions = [function.rpartition("_")[2] for function in entry.functions]
    kind = next(iter(functions), entry.name.rpartition("_")[2])
    for strategy in STRATEGIES:
        try:
            rows, theirs = first_side(
                entry, set(columns), strategy, kind, folder, options
            )
        except ModuleNotFoundError as error:
            return "package missing", str(error.name)
        except SystemExit:
            return "program missing", ""
        except Exception as error:  # noqa: BLE001 - the rows are made up: what fails may be anything
            if re.search(r"No module named|install|module script", str(error)):
                return "package missing", str(error)
            reason = reason or f"{type(error).__name__}: {error}"
            continue
        try:
            ours = by_assay(entry, rows, folder, options)
        except AssayError as error:
            return "refused by assay", " ".join(str(error).split())
        return verdict_on(ours, theirs, not_compared(rows))
    return "no rows fit", reason


def not_compared(rows: list[dict[str, Any]]) -> set[str]:
    """Return the fields of samples that differ from run to run: an image is hashed with its address in memory."""
    has_images = any(hasattr(value, "convert") for value in rows[0].values())
    return {"doc_hash"} if has_images else set()


def verdict_on(ours: Side, theirs: Side, ignored: set[str]) -> tuple[str, str]:
    """Return whether two sides agree, and where they do not."""
    if sorted(set(ours.requests)) != sorted(set(theirs.requests)):
        return "requests differ", _first_difference(ours.requests, theirs.requests)
    wrong = {
        name: (ours.numbers.get(name), value)
        for name, value in theirs.numbers.items()
        if not _equal(ours.numbers.get(name), value)
    }
    if wrong:
        return "numbers differ", str(wrong)
    if len(ours.samples) != len(theirs.samples):
        return "samples differ", f"{len(ours.samples)} and {len(theirs.samples)}"
    for mine, other in zip(ours.samples, theirs.samples, strict=True):
        fields = [
            key
            for key in {**mine, **other}
            if key not in ignored
            and json.dumps(mine.get(key)) != json.dumps(other.get(key))
        ]
        if fields:
            key = fields[0]
            return "samples differ", f"{key}: {mine.get(key)!r} and {other.get(key)!r}"
    return "agree", ""


def _equal(ours: float | None, theirs: float) -> bool:
    if ours is None:
        return False
    if math.isnan(ours) or math.isinf(theirs) or math.isnan(theirs):
        return math.isnan(ours) and not math.isfinite(theirs)
    return math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _first_difference(ours: Sequence[str], theirs: Sequence[str]) -> str:
    mine, other = sorted(set(ours) - set(theirs)), sorted(set(theirs) - set(ours))
    return f"ours {mine[:1]!r:.200} theirs {other[:1]!r:.200}"


def families_to_try(
    options: argparse.Namespace,
) -> Iterator[tuple[str, list[IndexEntry]]]:
    """Yield the tasks of each family, those that differ in their functions and output type first."""
    families: dict[str, list[IndexEntry]] = collections.defaultdict(list)
    for entry in installed_index(LIBRARY).values():
        if entry.kind == "task":
            families[entry.family].append(entry)
    for family, entries in sorted(families.items()):
        if options.families and family not in options.families.split(","):
            continue
        kinds: collections.Counter[Any] = collections.Counter()
        ranked = []
        for entry in entries:
            kind = (entry.functions, entry.output_type)
            ranked.append((kinds[kind], entry))
            kinds[kind] += 1
        ranked.sort(key=lambda pair: pair[0])
        yield family, [entry for _, entry in ranked]


def compare_within(
    entry: IndexEntry, folder: Path, options: argparse.Namespace
) -> tuple[str, str]:
    """Compare one task, quietly and within a time limit."""
    noise = io.StringIO()
    previous = signal.signal(signal.SIGALRM, _raise_timeout)
    signal.alarm(options.seconds)
    try:
        with contextlib.redirect_stdout(noise), contextlib.redirect_stderr(noise):
            return compare(entry, folder, options)
    except TimeoutError:
        return "took too long", ""
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def _raise_timeout(*_: Any) -> None:
    raise TimeoutError


def main() -> None:
    """Compare, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--per_family", type=int, default=2, help="tasks of each family"
    )
    parser.add_argument(
        "--most", type=int, default=5, help="tasks of a family of which none agrees"
    )
    parser.add_argument(
        "--seconds", type=int, default=120, help="the longest time for one task"
    )
    parser.add_argument("--families", default="")
    parser.add_argument("--shots", type=int, default=0)
    parser.add_argument("--chat", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    package.load_package()
    stand_in_for_hub_metrics()
    logging.disable(logging.CRITICAL)
    counts: collections.Counter[str] = collections.Counter()
    families: dict[str, set[str]] = collections.defaultdict(set)
    with tempfile.TemporaryDirectory() as folder:
        for family, entries in families_to_try(options):
            for number, entry in enumerate(entries):
                has_agreed = "agree" in families[family]
                if number >= (options.per_family if has_agreed else options.most):
                    break
                verdict, why = compare_within(entry, Path(folder), options)
                counts[verdict] += 1
                families[family].add(verdict)
                if verdict.endswith("differ") or options.verbose:
                    print(f"{family} {entry.name}: {verdict} {why:.300}", flush=True)
    agreeing = [name for name, verdicts in families.items() if "agree" in verdicts]
    print(f"lm_eval {LIBRARY.version()}, {options.shots} shots, chat {options.chat}")
    for verdict, count in counts.most_common():
        print(f"  {count:4} tasks: {verdict}")
    print(f"  {len(agreeing)} of {len(families)} families have a task that agrees")


if __name__ == "__main__":
    main()
