"""lmms-eval tasks through assay against `lmms_eval.evaluator.evaluate`: the same requests, media and numbers.

    python lmms_eval_parity.py [--families mme,mmmu] [--first 0 --last 400] [--per_family N] [--verbose]

Needs `lmms_eval` 0.7.3 and what its tasks import. Every task file of the package is tried: it counts as loading if
lmms-eval itself makes a task of it with made-up rows. Both sides ask one scripted model, whose answer depends on the
request alone, and one scripted judge. Texts, media (pixels, samples or file contents) and the order of requests are
compared, then what `process_results` and the aggregations make of the same answers.
"""

import argparse
import collections
import contextlib
import gc
import hashlib
import inspect
import io
import itertools
import json
import logging
import math
import os
import re
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy
import scripted_answers
from column_uses import Use, read_module, uses_in
from lmms_eval_rows import AS_USED, media_value, value_as_used, written_columns
from made_up_rows import (
    MOST_COLUMNS_ADDED,
    ROWS,
    STRATEGIES,
    columns_of,
    lacking_column,
    number_of,
    value_of,
)
from PIL import Image
from row_search import (
    Change,
    Failure,
    changes_for,
    copied,
    failure_of,
    is_elsewhere,
    is_later,
    texts_of_function,
)

import assay
from assay.core import Abilities, AssayError, Likelihood, Output, Request
from assay.dialects.harness.random_state import RandomState
from assay.dialects.harness.task_index import IndexEntry, installed_index
from assay.dialects.harness.task_yaml import FUNCTION, merged_yaml
from assay.dialects.lmms_eval import judge_clients, lmms_package
from assay.dialects.lmms_eval.claims import LIBRARY

# Before the package is imported, which happens when a task is loaded.
HOME = tempfile.mkdtemp(prefix="lmms_parity_")
os.environ.update(
    HOME=HOME,
    HF_HOME=HOME,
    HF_DATASETS_OFFLINE="1",
    HF_HUB_OFFLINE="1",
    HF_EVALUATE_OFFLINE="1",
    TQDM_DISABLE="1",
    XDG_CACHE_HOME=HOME,
    API_TYPE="openai",
    PROCESSOR="gpt-4o-mini",
)

OWN_STRATEGIES = ("images in lists", "options by letter", "options as text")
BROKEN = re.compile(
    r"module '\w+' has no attribute|Resource .*not found|NLTK Downloader|SSL|Max retries"
    r"|name '\w+' is not defined"
    r"|has no attribute 'sampler'|unexpected keyword argument 'lmms_eval_specific_kwargs'"
)
"""What lmms-eval says of a task whose file names what its helpers lack, or that downloads something at import. Its
tasks with examples, and functions that do not take what it passes them, fail in its own run whatever the rows."""
MOST_ASKED = 16
TOLERANCE = 1e-9
AGREE_UP_TO_AGGREGATION = "agree, aggregation fails in lmms-eval"
"""Requests, media and what `process_results` returns are equal; lmms-eval's aggregation fails for made-up rows."""
MOST_ALIKE = 5
WITH_ROUNDS = ("generate_until_multi_round", "generate_until_agentic")
SHARE_OF_SEARCH = 0.7
"""The part of a task's time that may be spent on finding rows."""
SHORT_SEARCH = 5.0
"""Seconds of a search that begins with what fitted another task of the family."""
FRAMES = 4
"""Images in a folder that a task looks into."""
LONGEST_PAUSE = 0.01
"""Seconds that a task waits before it tries something again."""
JUDGE = """
import scripted_answers


def judge(messages):
    content = messages[-1]["content"]
    if not isinstance(content, str):
        content = "".join(part.get("text", "") for part in content)
    return scripted_answers.judged(content)
"""


@dataclass
class Side:
    """What one of the two tools did with a task."""

    requests: list[str]
    numbers: dict[str, float]
    computed: list[str] = field(default_factory=list)
    """What `process_results` returned for each document."""
    broken: dict[str, str] = field(default_factory=dict)
    """Aggregations that failed."""


class OutOfTime(BaseException):
    """The time of a task is over. It is no `Exception`, so that no task goes on after it."""


class NoRowsFit(Exception):
    """A task fails with all rows that were made up."""


class DoesNotLoad(Exception):
    """lmms-eval cannot make a task of a file, whatever its rows."""


def said(request: str) -> str:
    """Return what the scripted model generates."""
    return scripted_answers.said(request)


def weighed(request: str, continuation: str) -> tuple[float, bool]:
    """Return the loss of a continuation."""
    number = number_of(f"{request}\0{continuation.strip()}")
    return (number % 1000) / 100 + 0.5, number % 3 == 0


def digest(data: bytes) -> str:
    """Return a short digest of a medium."""
    return hashlib.sha256(data).hexdigest()[:16]


def pixels(image: Any) -> bytes:
    """Return the size and the pixels of an image."""
    return repr(image.size).encode() + image.convert("RGBA").tobytes()


def samples(array: Any) -> bytes:
    """Return the samples of a clip, as 16-bit numbers."""
    numbers = numpy.asarray(array, dtype="float64") * 32768
    return numpy.clip(numbers.round(), -32768, 32767).astype("<i2").tobytes()


class AssayModel:
    """The scripted model as assay asks it."""

    abilities = Abilities(
        frozenset({"text", "image", "audio", "video"}),
        likelihood=True,
        roles="any",
        chat=True,
    )
    identity: Mapping[str, Any] = {"scripted": "lmms_eval_parity"}
    batch_size = 1

    def __init__(self) -> None:
        self.seen: list[str] = []

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        outputs = []
        for request in requests:
            text = own_text(request)
            self.seen.append(f"generate\0{text}\0{request.options.max_tokens}")
            outputs.append(Output.of(said(text)))
        return outputs

    def likelihood(self, requests: Sequence[Request]) -> list[Output]:
        outputs = []
        for request in requests:
            text = own_text(request)
            entries = []
            for continuation in request.prompt.continuations or ():
                self.seen.append(f"weigh\0{text}\0{continuation.strip()}")
                loss, is_greedy = weighed(text, continuation)
                entries.append(Likelihood(-loss, is_greedy, 1))
            outputs.append(Output(likelihoods=tuple(entries)))
        return outputs


def own_text(request: Request) -> str:
    """Return a request of assay as text: roles, texts, and digests of the media."""
    pieces = []
    for message in request.messages:
        pieces.append(f"[{message.role}]")
        pieces += [own_part(part) for part in message.parts]
    return "|".join(pieces)


def own_part(part: Any) -> str:
    """Return a part of a prompt of assay as text."""
    if part.kind == "text":
        return str(part.text)
    data = part.data()
    if part.kind == "image":
        return f"<image {digest(pixels(Image.open(io.BytesIO(data))))}>"
    if part.kind == "audio" and data[:4] == b"RIFF":
        import soundfile

        array, _ = soundfile.read(io.BytesIO(data))
        return f"<audio {digest(samples(array))}>"
    return f"<{part.kind} {digest(data)}>"


def their_medium(kind: str, value: Any) -> str:
    """Return a medium of lmms-eval as text."""
    if hasattr(value, "save"):
        return f"<image {digest(pixels(value))}>"
    if isinstance(value, Mapping) and value.get("array") is not None:
        return f"<audio {digest(samples(value['array']))}>"
    if isinstance(value, Mapping):
        named = value.get("url") or value.get("path")
        return their_medium(str(value.get("type") or kind), named)
    data = value if isinstance(value, bytes) else Path(value).read_bytes()
    suffix = "" if isinstance(value, bytes) else Path(value).suffix.lower()
    if kind == "image" or suffix in (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp"):
        return f"<image {digest(pixels(Image.open(io.BytesIO(data))))}>"
    if suffix == ".wav":
        import soundfile

        return f"<audio {digest(samples(soundfile.read(io.BytesIO(data))[0]))}>"
    return f"<{kind} {digest(data)}>"


def their_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return messages of lmms-eval as text."""
    pieces = []
    for message in messages:
        pieces.append(f"[{message['role']}]")
        content = message["content"]
        if isinstance(content, str):
            pieces.append(content)
            continue
        for entry in content:
            if entry["type"] == "text":
                pieces.append(entry["text"])
            else:
                pieces.append(their_medium(entry["type"], entry["url"]))
    return "|".join(pieces)


def their_plain_text(context: str, visuals: Any) -> str:
    """Return a text with its media as a simple model gets them: in front, or where it marks them."""
    waiting = list(visuals or [])
    pieces, rest = [], context
    while waiting and "<image>" in rest:
        before, _, rest = rest.partition("<image>")
        pieces += [before] if before else []
        pieces.append(their_medium("image", waiting.pop(0)))
    if rest or not pieces:
        pieces.append(rest)
    in_front = [their_medium("video", visual) for visual in waiting]
    return "|".join(["[user]", *in_front, *pieces])


def scripted_lm() -> Any:
    """Return the scripted model as lmms-eval asks it."""

    class Scripted(lmms_package.module("api.model").lmms):  # type: ignore[misc]
        is_simple = False

        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def _say(self, text: str, kwargs: Mapping[str, Any]) -> str:
            length = kwargs.get("max_new_tokens") or 1024
            self.seen.append(f"generate\0{text}\0{length}")
            return said(text)

        def generate_until(self, requests: Any) -> list[str]:
            answers = []
            for request in requests:
                context, ask, kwargs, number, task, split = request.args
                row = self.task_dict[task][split][number]
                if callable(ask):
                    answers.append(self._say(their_text(ask(row)), kwargs))
                else:
                    # A task in Python that was not made for chats.
                    text = their_plain_text(context, kwargs(row))
                    answers.append(self._say(text, ask))
            return answers

        def generate_until_multi_round(self, requests: Any) -> list[list[str]]:
            answers = []
            for request in requests:
                _, ask, kwargs, number, task, split = request.args
                row = self.task_dict[task][split][number]
                answers.append(self._talk(ask, row, kwargs))
            return answers

        def _talk(self, ask: Any, row: Any, kwargs: Mapping[str, Any]) -> list[str]:
            said_so_far: list[str] = []
            messages, info = ask(row), None
            while True:
                said_so_far.append(self._say(their_text(messages), kwargs))
                following = ask(
                    row,
                    round_idx=len(said_so_far),
                    previous_output=list(said_so_far),
                    previous_round_info=info,
                )
                if not isinstance(following, tuple) or following[1]:
                    return said_so_far
                messages, _, _, info = following

        def loglikelihood(self, requests: Any) -> list[Any]:
            """Return pairs in a result of lmms-eval, which makes a text of a bare pair and fails at scoring it."""
            wrapped = lmms_package.module("api.instance").GenerationResult
            answers = []
            for request in requests:
                context, ending, visual, number, task, split = request.args
                row = self.task_dict[task][split][number]
                text = their_plain_text(context, visual(row))
                ending = str(ending(row) if callable(ending) else ending)
                self.seen.append(f"weigh\0{text}\0{ending.strip()}")
                answers.append(wrapped(text=weighed(text, ending)))
            return answers

    return Scripted()


class ScriptedJudge(judge_clients.RunJudge):
    """The judge of `JUDGE` for lmms-eval's own run."""

    def __init__(self) -> None:
        self._failures: list[str] = []

    def answer(self, request: Mapping[str, Any]) -> str:
        messages = judge_clients.prompt_of(request).messages
        return scripted_answers.judged(messages[-1].text)


def without_retries() -> None:
    """Let lmms-eval and its tasks fail at once, and not after several attempts and their pauses."""
    wait = time.sleep
    time.sleep = lambda seconds: wait(min(seconds, LONGEST_PAUSE))
    task_module = lmms_package.module("api.task")
    task_class = task_module.ConfigurableTask
    task_class.download = task_class.download.__wrapped__
    task_class.process_results = noting_results(task_class.process_results.__wrapped__)
    output_class = lmms_package.module("evaluator_utils").TaskOutput
    output_class.calculate_aggregate_metric = aggregate_one_by_one
    # Fingerprints of tables take a third of the time.
    numbers = itertools.count()
    arrow_module = sys.modules["datasets.arrow_dataset"]
    arrow_module.generate_fingerprint = lambda *_: f"rows{next(numbers)}"
    import huggingface_hub

    def download(*_: Any, filename: str = "file", **__: Any) -> str:
        path = os.path.join(HOME, filename)
        make_file(path)
        return path

    huggingface_hub.hf_hub_download = download
    # Tasks look through what they downloaded.
    snapshot = os.path.join(HOME, "snapshot")
    os.makedirs(snapshot, exist_ok=True)
    huggingface_hub.snapshot_download = lambda *_, **__: snapshot
    task_module.snapshot_download = huggingface_hub.snapshot_download


_computed: list[str] = []
"""What `process_results` returned in the run that goes on."""
_broken: dict[str, str] = {}
"""Aggregations that failed in lmms-eval's run, with their errors."""


def noting_results(process_results: Any) -> Any:
    """Return `process_results` so that its results are noted."""

    def process(self: Any, doc: Any, results: Any, *rest: Any, **more: Any) -> Any:
        computed = process_results(self, doc, results, *rest, **more)
        _computed.append(plain_text(computed))
        return computed

    return process


def plain_text(value: Any) -> str:
    """Return a value as text: mappings sorted by key, images as digests, no addresses of objects."""
    if isinstance(value, Mapping):
        entries = [f"{key}: {plain_text(entry)}" for key, entry in value.items()]
        return "{" + ", ".join(sorted(entries)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(plain_text, value)) + "]"
    if hasattr(value, "save") and hasattr(value, "size"):
        return f"<image {digest(pixels(value))}>"
    if isinstance(value, bytes):
        return f"<bytes {digest(value)}>"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def aggregate_one_by_one(output: Any, bootstrap_iters: int = 0) -> None:
    """Compute the numbers of a task as lmms-eval does, and go on where one fails for made-up rows."""
    aggregations = output.task.aggregation()
    for (metric, filter_key), items in output.sample_metrics.items():
        if metric not in aggregations:
            continue
        aggregate = aggregations[metric]
        takes_arguments = "args" in inspect.signature(aggregate).parameters
        given = {"args": output.task.args} if takes_arguments else {}
        output.sample_len = len(items)
        key = f"{metric},{filter_key}"
        try:
            output.agg_metrics[key] = aggregate(items, **given)
        except Exception as error:  # noqa: BLE001 - the code of a task
            _broken[key] = f"{type(error).__name__}: {error}"


class PlainMeteor:
    """Shares of common words, for a Java program that takes seconds to start and gigabytes of memory."""

    def compute_score(
        self, references: Mapping[Any, list[str]], answers: Mapping[Any, list[str]]
    ) -> tuple[float, list[float]]:
        """Return the average of all answers, and the score of each."""
        scores = []
        for key, texts in references.items():
            words = set(answers[key][0].split())
            shares = [
                len(words & set(text.split())) / (len(words | set(text.split())) or 1)
                for text in texts
            ]
            scores.append(max(shares))
        return sum(scores) / len(scores), scores

    def method(self) -> str:
        """Return the name of the score."""
        return "METEOR"


def split_plainly(_: Any, captions: Mapping[Any, list[Any]]) -> dict[Any, list[str]]:
    """Split captions into words without Java."""
    return {
        key: [
            " ".join(re.findall(r"\w+", entry["caption"].lower())) for entry in entries
        ]
        for key, entries in captions.items()
    }


def without_java() -> None:
    """Replace the Java programs of pycocoevalcap, for both sides."""
    from pycocoevalcap import eval as captions
    from pycocoevalcap.meteor import meteor
    from pycocoevalcap.tokenizer import ptbtokenizer

    captions.Meteor = meteor.Meteor = PlainMeteor
    ptbtokenizer.PTBTokenizer.tokenize = split_plainly


MEDIA_SUFFIXES = (
    ".mp4",
    ".webm",
    ".mkv",
    ".avi",
    ".mov",
    ".wav",
    ".mp3",
    ".flac",
    ".jpg",
    ".jpeg",
    ".png",
)


def make_file(name: Any) -> bool:
    """Write a small medium under a name in the working folder; return False for other names."""
    if not isinstance(name, str) or not name.lower().endswith(MEDIA_SUFFIXES):
        return False
    path = os.path.abspath(name)
    if not path.startswith(HOME):
        return False
    os.makedirs(os.path.dirname(path), exist_ok=True)
    # `clip3.wav` is what the column with this path has as its bytes.
    digits = re.search(r"(\d+)\.\w+$", path)
    number = int(digits[1]) if digits else number_of(path)
    data = media_value(Path(path).suffix.lower(), number)
    Path(path).write_bytes(data)
    return True


def make_folder(name: Any) -> bool:
    """Make a folder that a task expects in the cache of lmms-eval; return False for other names."""
    is_inside = isinstance(name, str) and name.startswith(HOME)
    if not is_inside or os.path.isdir(name) or os.path.splitext(name)[1]:
        return False
    os.makedirs(name)
    if os.path.basename(name) == "snapshots":
        os.makedirs(os.path.join(name, "main"))
    if re.search(r"frame|image|img|pictures", name.removeprefix(HOME).lower()):
        for number in range(1, FRAMES + 1):
            frame = os.path.join(name, f"{number:04}.jpg")
            Path(frame).write_bytes(media_value(".jpg", number))
    return True


def make_missing(error: FileNotFoundError) -> bool:
    """Make the file or folder that an error is about; return False if there is nothing left to make."""
    names = [error.filename, *re.findall(rf"{re.escape(HOME)}[^\s'\"]+", str(error))]
    return any(make_file(name) or make_folder(name) for name in names)


def make_files_on_demand() -> None:
    """Let media files that tasks expect in the cache of lmms-eval exist as soon as they are looked for."""
    original = {name: getattr(os.path, name) for name in ("exists", "isfile")}

    def checked(name: str) -> Any:
        def check(path: Any) -> bool:
            if not isinstance(path, int) and not original["exists"](path):
                make_file(os.fspath(path))
            return bool(original[name](path))

        return check

    for name in original:
        setattr(os.path, name, checked(name))


def their_manager(entry: IndexEntry) -> Any:
    """Return a task manager that knows one task, which it reads by lmms-eval's own loader."""
    manager = lmms_package.module("tasks").TaskManager(include_defaults=False)
    kind = "python_task" if entry.output_type == "class" else "task"
    manager._task_index = {entry.name: {"type": kind, "yaml_path": entry.path}}
    manager._all_tasks = [entry.name]
    return manager


@contextlib.contextmanager
def serving(splits: Any) -> Iterator[None]:
    """Give whatever a task downloads these rows."""
    import datasets

    original = datasets.load_dataset, datasets.load_from_disk
    every = datasets.DatasetDict(splits)

    def load(*_: Any, split: str | None = None, **__: Any) -> Any:
        return every if split is None else next(iter(every.values()))

    datasets.load_dataset = datasets.load_from_disk = load
    try:
        yield
    finally:
        datasets.load_dataset, datasets.load_from_disk = original


def their_task(entry: IndexEntry, config: Mapping[str, Any], data: Any) -> Any:
    """Return the task object that lmms-eval makes, from its own loader."""
    names = ("test_split", "validation_split", "training_split", "fewshot_split")
    used = {config.get(name) for name in names} - {None}
    weighs = config.get("output_type") in ("multiple_choice", "loglikelihood")
    kind = "simple" if weighs else "chat"
    with (
        serving(dict.fromkeys(used, data)),
        judge_clients.placeholder_keys(),
        judge_clients.replaced_clients(),
    ):
        manager = their_manager(entry)
        loaded = manager.load_task_or_group([entry.name], task_type=kind)
    return next(iter(loaded.values()))


def default_arguments(task: str, folder: Path) -> argparse.Namespace:
    """Return the arguments of lmms-eval's command line for one task."""
    arguments = lmms_package.command_line_defaults()
    arguments.tasks, arguments.output_path = task, str(folder)
    arguments.log_samples = True
    return arguments


def by_lmms_eval(
    entry: IndexEntry, config: Mapping[str, Any], data: Any, folder: Path
) -> Side:
    """Return the requests and numbers of lmms-eval's own `evaluate`."""
    evaluator = lmms_package.module("evaluator")
    _computed.clear()
    _broken.clear()
    state = RandomState()
    with state.active(), judge_clients.judged_by(ScriptedJudge()):
        task = their_task(entry, config, data)
        if task.get_config("num_fewshot") is None:
            task.set_config(key="num_fewshot", value=0)
        task.set_fewshot_seed(seed=1234)
        lm = scripted_lm()
        lm.task_dict[entry.name] = task.dataset
        arguments = default_arguments(entry.name, folder)
        results = evaluator.evaluate(
            lm,
            {entry.name: task},
            limit=MOST_ASKED,
            bootstrap_iters=0,
            log_samples=True,
            cli_args=arguments,
            process_docs_parallel=1,
        )
    numbers = {}
    for key, value in results["results"][entry.name].items():
        metric, comma, filter_name = key.partition(",")
        is_number = isinstance(value, (int, float, numpy.number))
        if not comma or "_stderr" in metric or not is_number or metric == "bypass":
            continue
        label = metric if filter_name == "none" else key
        numbers[label] = float(value)
    return Side(lm.seen, numbers, sorted(_computed), dict(_broken))


def by_assay(entry: IndexEntry, data: Path, judge: str) -> Side:
    """Return the requests and numbers of an assay run."""
    model = AssayModel()
    _computed.clear()
    with tempfile.TemporaryDirectory() as output:
        result = assay.run(
            f"lmms_eval/{entry.name}",
            model=model,
            data=str(data),
            fewshot_data=str(data),
            limit=MOST_ASKED,
            output=output,
            judges={"judge": judge},
        )
    numbers = {
        row.metric: math.nan if row.value is None else row.value
        for row in result.results
    }
    return Side(model.seen, numbers, sorted(_computed))


FUNCTIONS_OF_ROWS = re.compile(r"^(process_docs|process_results|doc_to_\w+)$")
MOST_ROWS = 64


def uses_of(entry: IndexEntry, config: Mapping[str, Any]) -> Use:
    """Return how the functions of a task use the columns of its rows. What selects rows decides before the others."""
    root = LIBRARY.tasks_folder()
    merged = Use()
    assert root is not None
    keys = sorted(filter(FUNCTIONS_OF_ROWS.match, config), key="process_docs".__ne__)
    for key in keys:
        text = config[key]
        if not isinstance(text, str) or not text.startswith(FUNCTION):
            continue
        module, _, name = text.removeprefix(FUNCTION).rpartition(".")
        file = helper_file(Path(entry.path).parent, module, root)
        if file is None:
            continue
        for column, use in uses_in(file, [name], root).parts.items():
            merged.part(column).merge(use)
    return merged


def helper_file(folder: Path, module: str, root: Path) -> Path | None:
    """Return the file of a helper module, in the folder of a task or in one above it."""
    for candidate in (folder, *folder.parents):
        file = candidate / f"{module.replace('.', '/')}.py"
        if file.is_file():
            return file
        if candidate == root:
            break
    return None


def rows_for(
    columns: set[str], strategy: str, kind: str, uses: Use
) -> list[dict[str, Any]]:
    """Return made-up rows; columns with media have small images, clips and file names."""
    rows = []
    count = ROWS
    if strategy == AS_USED:
        most = max((len(use.literals) for use in uses.parts.values()), default=0)
        count = min(MOST_ROWS, max(ROWS, most))
    for number in range(count):
        row = {}
        for column in sorted(columns):
            if strategy == AS_USED and column in uses.parts:
                row[column] = value_as_used(column, uses.parts[column], number)
                continue
            value = written_columns(column, number, strategy)
            if value is None:
                value = value_of(column, number, strategy, kind)
            row[column] = value
        rows.append(row)
    return rows


def dataset_of(rows: list[dict[str, Any]]) -> Any:
    """Return rows as lmms-eval would get them from the hub: audio columns are audio."""
    import datasets

    dataset = datasets.Dataset.from_list(rows)
    for name, value in rows[0].items():
        if isinstance(value, Mapping) and set(value) == {"bytes", "path"}:
            dataset = dataset.cast_column(name, datasets.Audio())
    return dataset


_helpful: dict[str, str] = {}
"""By family: the strategy whose rows fitted last."""
_hopeless: dict[str, collections.Counter[tuple[int, ...]]] = collections.defaultdict(
    collections.Counter
)
"""By family: how often a search from one place found nothing."""
MOST_HOPELESS = 2
AFTER_ANSWERS = 3
"""From this stage on, answers of another kind may help."""
_learned: dict[str, list[Change]] = {}
"""By family: the changes with which the rows of a task fitted."""


@dataclass
class Trial:
    """One task, and what its rows are made from."""

    entry: IndexEntry
    config: Mapping[str, Any]
    columns: set[str]
    kind: str
    folder: Path
    uses: Use

    def first_side(self, strategy: str, uses: Use) -> tuple[Any, Side]:
        """Return rows that lmms-eval accepts, and what it does with them; a column that is lacking is added."""
        columns = self.columns if strategy == AS_USED else set(self.columns)
        for _ in range(3 * MOST_COLUMNS_ADDED):
            data = dataset_of(rows_for(columns, strategy, self.kind, uses))
            try:
                return data, by_lmms_eval(self.entry, self.config, data, self.folder)
            except ImportError as error:
                raise DoesNotLoad(f"{type(error).__name__}: {error}") from error
            except SyntaxError as error:
                if is_of_a_file(error):
                    raise DoesNotLoad(f"SyntaxError: {error}") from error
                raise ValueError(str(error)) from error
            except FileNotFoundError as error:
                if not make_missing(error):
                    raise
            except SystemExit as error:
                raise ValueError(f"ends Python: {error}") from error
            except AssayError as error:
                raise ValueError(str(error)) from error
            except Exception as error:
                if BROKEN.search(str(error)):
                    raise DoesNotLoad(f"{type(error).__name__}: {error}") from error
                column = lacking_column(error)
                if column is not None and not {column} & (columns | texts_in(data)):
                    columns.add(column)
                elif strategy != AS_USED or not learn(error, data, uses):
                    raise
        raise ValueError("too many columns are lacking")

    def failure(self, uses: Use) -> Failure | tuple[Any, Side]:
        """Return where the task fails with rows as the uses say, or the rows and what lmms-eval does with them."""
        root = LIBRARY.need_tasks_folder()
        try:
            return self.first_side(AS_USED, uses)
        except DoesNotLoad as error:
            return failure_of(error.__cause__ or error, root)
        except Exception as error:  # noqa: BLE001 - the rows are made up: what fails may be anything
            failure = failure_of(error, root)
            return self._selection() if NO_ROWS_LEFT.search(str(error)) else failure

    def _selection(self) -> Failure:
        """Return a failure of the function that selects rows: it took none."""
        function = str(self.config.get("process_docs", "")).removeprefix(FUNCTION)
        module, _, name = function.rpartition(".")
        root = LIBRARY.need_tasks_folder()
        file = helper_file(Path(self.entry.path).parent, module, root)
        found = None if file is None else read_module(file, root).function(name)
        texts, tables = ((), ()) if found is None else texts_of_function(found)
        return Failure((0,), "no rows are left", texts, (), tables)

    def search(self, deadline: float) -> tuple[Any, Side] | None:
        """Return rows that fit after changes of their kinds, with what lmms-eval does; None if none fit in time."""
        uses, changes = copied(self.uses), list(_learned.get(self.entry.family, ()))
        for change in changes:
            change.apply(uses)
        failure = self.failure(uses)
        hopeless = _hopeless[self.entry.family]
        if not changes and isinstance(failure, Failure):
            if hopeless[failure.progress] >= MOST_HOPELESS:
                return None
            hopeless[failure.progress] += 1
        seen: set[tuple[int, ...]] = set()
        while isinstance(failure, Failure):
            seen.add(failure.progress)
            further = self._one_change(failure, uses, seen, deadline)
            if further is None:
                return None
            change, failure = further
            change.apply(uses)
            changes.append(change)
        _learned[self.entry.family] = changes
        hopeless.clear()
        return failure

    def _one_change(
        self, failure: Failure, uses: Use, seen: set[tuple[int, ...]], deadline: float
    ) -> tuple[Change, Failure | tuple[Any, Side]] | None:
        """Return a change with which the task gets further, and how far, or else one that fails elsewhere."""
        elsewhere = None
        for change, style in self._attempts(failure, uses):
            if time.monotonic() > deadline:
                return None
            changed = copied(uses)
            change.apply(changed)
            with scripted_answers.answering(style):
                after = self.failure(changed)
            if not isinstance(after, Failure) or is_later(after, failure):
                scripted_answers.choose(style)
                return change, after
            if "torchcodec" in after.message:
                continue  # audio where the task takes something else
            if elsewhere is None and is_elsewhere(after, failure, seen):
                elsewhere = change, after
        return elsewhere

    def _attempts(
        self, failure: Failure, uses: Use
    ) -> Iterator[tuple[Change, tuple[str, str]]]:
        """Yield other answers, if some were read already, and other rows."""
        if failure.progress[0] >= AFTER_ANSWERS:
            for style in scripted_answers.styles():
                yield Change((), ""), style
        usual = scripted_answers.chosen()
        rows = rows_for(self.columns, AS_USED, self.kind, uses)
        for change in dict.fromkeys(changes_for(failure, uses, rows)):
            yield change, usual


NO_ROWS_LEFT = re.compile(r"out of bounds for size 0|No data|no samples|empty dataset")


def compare(
    entry: IndexEntry, folder: Path, judge: str, deadline: float
) -> tuple[str, str]:
    """Return whether both sides agree on a task, or why it could not be tried."""
    trial = trial_of(entry, folder)
    scripted_answers.choose(scripted_answers.USUAL)
    try:
        data, theirs = sides_that_fit(trial, deadline)
    except DoesNotLoad as error:
        return "does not load", str(error)
    except NoRowsFit as error:
        return "no rows fit", str(error)
    file = folder / "rows.parquet"
    data.to_parquet(file)
    try:
        ours = by_assay(entry, file, judge)
    except AssayError as error:
        return "refused by assay", " ".join(str(error).split())
    return verdict_on(ours, theirs, entry.output_type in WITH_ROUNDS)


def trial_of(entry: IndexEntry, folder: Path) -> Trial:
    """Read which columns a task uses, and how."""
    config = merged_yaml(entry.path, LIBRARY)
    columns = columns_of(entry, config)
    for key in ("doc_to_visual", "doc_to_choice"):
        if isinstance(config.get(key), str) and config[key].isidentifier():
            columns.add(config[key])
    uses = uses_of(entry, config)
    columns |= set(uses.parts) | numbered_columns(entry)
    functions = [function.rpartition("_")[2] for function in entry.functions]
    kind = next(iter(functions), entry.name.rpartition("_")[2])
    return Trial(entry, config, columns, kind, folder, uses)


NUMBERED = re.compile(r"""(?:\[|get\(\s*)f["']([A-Za-z_]+)\{\w+(?:\s*\+\s*1)?\}["']""")
"""A column whose name ends with the number of a loop, such as `doc[f"option{i}"]`."""


def numbered_columns(entry: IndexEntry) -> set[str]:
    """Return columns whose names helper functions make of a text and a number or a letter."""
    columns = set()
    root = LIBRARY.need_tasks_folder()
    for module in {function.rpartition(".")[0] for function in entry.functions}:
        file = helper_file(Path(entry.path).parent, module, root)
        if file is None:
            continue
        for prefix in NUMBERED.findall(file.read_text(encoding="utf-8")):
            columns |= {f"{prefix}{ending}" for ending in "01234ABCD"}
    return columns


def sides_that_fit(trial: Trial, deadline: float) -> tuple[Any, Side]:
    """Return rows that fit a task: by a strategy that guesses by names and uses, or else by a search."""
    family = trial.entry.family
    if family in _learned:
        fitting = trial.search(min(deadline, time.monotonic() + SHORT_SEARCH))
        if fitting is not None:
            return fitting
    first = _helpful.get(family)
    every = (AS_USED, STRATEGIES[0], *OWN_STRATEGIES, *STRATEGIES[1:])
    reasons: list[str] = []
    for strategy in sorted(every, key=lambda name: name != first):
        if len(reasons) >= MOST_ALIKE and len(set(reasons)) == 1:
            break  # other rows would fail alike
        try:
            fitting = trial.first_side(strategy, trial.uses)
        except DoesNotLoad:
            raise
        except Exception as error:  # noqa: BLE001 - the rows are made up: what fails may be anything
            reasons.append(f"{type(error).__name__}: {error}")
            continue
        _helpful[family] = strategy
        return fitting
    fitting = trial.search(deadline)
    if fitting is None:
        raise NoRowsFit(reasons[0])
    return fitting


def is_of_a_file(error: SyntaxError) -> bool:
    """Return True for an error in a module; False for one in a text of a row or an answer that is read as Python."""
    return Path(str(error.filename)).suffix == ".py"


def texts_in(data: Any) -> set[str]:
    """Return the texts that the cells of a table are."""
    rows = data.with_format("arrow")[:].to_pylist()
    return {value for row in rows for value in row.values() if isinstance(value, str)}


def learn(error: Exception, data: Any, uses: Use) -> bool:
    """Change what a column holds by what an error says about one of its values; return False if it says nothing."""
    table = data.with_format("arrow")[:]
    rows = table.to_pylist()
    for column, value in rows[0].items():
        if not isinstance(value, str) or value not in str(error):
            continue
        use = uses.part(column)
        if isinstance(error, KeyError) and error.args[0] == value:
            labels = labels_looked_up(error)
            use.literals = dict.fromkeys(labels)
            return bool(labels)
        kind = "path" if isinstance(error, OSError) else "number"
        says_so = isinstance(error, OSError) or "could not convert" in str(error)
        if (
            says_so or "invalid literal for int" in str(error)
        ) and kind not in use.kinds:
            use.kinds = {kind: None}
            return True
    return False


def labels_looked_up(error: KeyError) -> list[Any]:
    """Return the keys of the table in which a task did not find a value."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return []
    code = trace.tb_frame.f_code
    values = {**trace.tb_frame.f_globals, **trace.tb_frame.f_locals}
    for name in code.co_names + code.co_varnames:
        table = values.get(name)
        if isinstance(table, Mapping) and table and error.args[0] not in table:
            labels = [key for key in table if isinstance(key, (str, int))]
            if len({type(label) for label in labels}) == 1:
                return labels
    return []


def verdict_on(ours: Side, theirs: Side, has_rounds: bool) -> tuple[str, str]:
    """Return whether two sides agree, and where they do not."""
    if has_rounds and sorted(ours.requests) == sorted(theirs.requests):
        pass  # Conversations run side by side in assay.
    elif ours.requests != theirs.requests:
        for mine, other in zip(ours.requests, theirs.requests, strict=False):
            if mine != other:
                return "requests differ", f"ours {mine!r:.220} theirs {other!r:.220}"
        counts = f"{len(ours.requests)} and {len(theirs.requests)} requests"
        return "requests differ", counts
    for mine, other in zip(ours.computed, theirs.computed, strict=False):
        if mine != other:
            return "results differ", f"ours {mine!r:.220} theirs {other!r:.220}"
    if len(ours.computed) != len(theirs.computed):
        counts = f"{len(ours.computed)} and {len(theirs.computed)} documents"
        return "results differ", counts
    wrong = {
        name: (ours.numbers.get(name), value)
        for name, value in theirs.numbers.items()
        if not are_equal(ours.numbers.get(name), value)
    }
    if wrong:
        return "numbers differ", str(wrong)
    if theirs.broken:
        return AGREE_UP_TO_AGGREGATION, str(theirs.broken)
    return "agree", ""


def are_equal(ours: float | None, theirs: float) -> bool:
    """Return True for equal numbers; what is no finite number has no value in assay."""
    if ours is None:
        return False
    if math.isnan(ours) or not math.isfinite(theirs):
        return math.isnan(ours) and not math.isfinite(theirs)
    return math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def compare_within(
    entry: IndexEntry, folder: Path, judge: str, seconds: int
) -> tuple[str, str]:
    """Compare one task, quietly and within a time limit."""
    noise = io.StringIO()
    previous = signal.signal(signal.SIGALRM, _raise_timeout)
    try:
        try:
            # It rings again where a task catches everything.
            signal.setitimer(signal.ITIMER_REAL, seconds, 2)
            with contextlib.redirect_stdout(noise), contextlib.redirect_stderr(noise):
                deadline = time.monotonic() + SHARE_OF_SEARCH * seconds
                return compare(entry, folder, judge, deadline)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except OutOfTime:  # also where it rings on the way out
        return "took too long", ""
    except Exception as error:  # noqa: BLE001 - one file must not end the comparison of the others
        return "bench failed", f"{type(error).__name__}: {error}"
    finally:
        signal.signal(signal.SIGALRM, previous)


def _raise_timeout(*_: Any) -> None:
    raise OutOfTime


def tasks_to_try(options: argparse.Namespace) -> list[IndexEntry]:
    """Return the tasks of the package, family by family."""
    entries = [
        entry for entry in installed_index(LIBRARY).values() if entry.kind == "task"
    ]
    entries.sort(key=lambda entry: (entry.family, entry.name))
    if options.families:
        families = options.families.split(",")
        entries = [entry for entry in entries if entry.family in families]
    if options.names:
        names = options.names.split(",")
        entries = [entry for entry in entries if entry.name in names]
    if options.per_family:
        seen: collections.Counter[str] = collections.Counter()
        chosen = []
        for entry in entries:
            seen[entry.family] += 1
            if seen[entry.family] <= options.per_family:
                chosen.append(entry)
        entries = chosen
    return entries[options.first : options.last]


def main() -> None:
    """Compare, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", default="")
    parser.add_argument("--names", default="")
    parser.add_argument("--per_family", type=int, default=0, help="0: all")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--last", type=int, default=None)
    parser.add_argument("--seconds", type=int, default=60, help="for one task")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lmms_package.load_package()
    lmms_package.module("evaluator")
    without_retries()
    without_java()
    make_files_on_demand()
    logging.disable(logging.CRITICAL)
    __import__("loguru").logger.remove()
    # lmms-eval collects garbage twice a task, which takes seconds while it looks through all modules.
    gc.freeze()
    counts: collections.Counter[str] = collections.Counter()
    families: dict[str, set[str]] = collections.defaultdict(set)
    started = time.monotonic()
    # Relative names of media are found there.
    os.chdir(HOME)
    folder = Path(tempfile.mkdtemp(dir=HOME))
    judge_file = folder / "parity_judge.py"
    judge_file.write_text(JUDGE, encoding="utf-8")
    for entry in tasks_to_try(options):
        verdict, why = compare_within(
            entry, folder, f"{judge_file}:judge", options.seconds
        )
        counts[verdict] += 1
        families[entry.family].add(verdict)
        gc.freeze()
        if not verdict.startswith("agree") or options.verbose:
            line = json.dumps(why[:400], ensure_ascii=False)
            print(f"{entry.family} {entry.name}: {verdict} {line}", flush=True)
    agreeing = [
        name
        for name, verdicts in families.items()
        if any(verdict.startswith("agree") for verdict in verdicts)
    ]
    loading = sum(counts.values()) - counts["does not load"]
    print(f"lmms_eval {LIBRARY.version()}, {time.monotonic() - started:.0f} s")
    for verdict, count in counts.most_common():
        print(f"  {count:4} tasks: {verdict}")
    whole, in_part = counts["agree"], counts[AGREE_UP_TO_AGGREGATION]
    print(f"  {whole} of {loading} files that load agree")
    print(f"  {whole + in_part} of {loading} agree in requests and `process_results`")
    print(f"  {len(agreeing)} of {len(families)} families have a task that agrees")


if __name__ == "__main__":
    main()
