"""Text benchmarks whose rows are read from several files: BIG-Bench Hard and MT-Bench."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..core import GenerateOptions, Prompt, Sample, UsageError, as_messages
from ..datasets import Samples, open_dataset
from ..datasets.faults import RowFault
from ..datasets.shards import Row, RowData, ShardOver

BBH_STEPS = "A: Let's think step by step."
BBH_DIRECT = "Write only the final answer, on one line. Of lettered options write the letter, as (A)."
BBH_SUBSETS = (
    "boolean_expressions", "causal_judgement", "date_understanding", "disambiguation_qa", "dyck_languages",
    "formal_fallacies", "geometric_shapes", "hyperbaton", "logical_deduction_five_objects",
    "logical_deduction_seven_objects", "logical_deduction_three_objects", "movie_recommendation",
    "multistep_arithmetic_two", "navigate", "object_counting", "penguins_in_a_table",
    "reasoning_about_colored_objects", "ruin_names", "salient_translation_error_detection", "snarks",
    "sports_understanding", "temporal_sequences", "tracking_shuffled_objects_five_objects",
    "tracking_shuffled_objects_seven_objects", "tracking_shuffled_objects_three_objects", "web_of_lies", "word_sorting",
)  # fmt: skip


@dataclass(frozen=True)
class SubsetRows(ShardOver):
    """The rows of one subset. Each row also has the subset's name, an id, and the worked examples for the prompt."""

    subset: str
    examples: str = ""
    columns: None = None

    @property
    def known_length(self) -> int | None:
        """The number of rows of the subset; None if it is unknown before reading."""
        return self.shard.known_length

    @property
    def seekable(self) -> bool:
        """True if a row can be read without reading those before it."""
        return self.shard.seekable

    def rows(self) -> Iterator[Row]:
        """Yield the rows in order."""
        for number, offset, row in self.shard.rows():
            yield number, offset, self._named(row, number)

    def row_at(self, number: int, offset: int) -> RowData:
        """Return the row with this number, as in `rows`."""
        return self._named(self.shard.row_at(number, offset), number)

    def _named(self, row: RowData, number: int) -> RowData:
        if not isinstance(row, Mapping):
            return row
        return {
            "id": f"{self.subset}/{number}",
            "subset": self.subset,
            "examples": self.examples,
            **row,
        }


def read_subsets(
    found: str | Path,
    *,
    worked: bool,
) -> Samples:
    """Read all subsets from a folder, a file or the hub. If `worked`, raise if the
    official worked examples are missing.
    """
    files: Sequence[Path] = ()
    if not str(found).startswith(("hub:", "hf://")):
        files = _files(Path(found))
    if files:
        shards = [_subset(file, worked) for file in files]
    elif worked:
        raise UsageError(
            "the hub copy has no worked examples",
            where=str(found),
            fix="--data FOLDER with the official files and their cot-prompts, or task bbh_direct",
        )
    else:
        names = {name: f"hub:{BBH_HUB}@{name}#test" for name in BBH_SUBSETS}
        shards = [
            SubsetRows(shard, name)
            for name, id in names.items()
            for shard in open_dataset(id).shards
        ]
    return Samples(
        shards,
        {"id": "id", "input": "input", "target": "target"},
        ("subset",),
        where="task 'bbh'",
    )


def _files(found: Path) -> Sequence[Path]:
    if found.is_file():
        return [found]
    folder = next(
        (inner for inner in (found / "bbh", found) if any(inner.glob("*.json"))), None
    )
    if folder is None:
        raise UsageError(
            "no subset files",
            where=str(found),
            fix=f"--data: {BBH_FILES}",
        )
    return sorted(folder.glob("*.json"))


def _subset(file: Path, worked: bool) -> SubsetRows:
    shard = open_dataset(file, columns={"input": "input", "target": "target"}).shards[0]
    return SubsetRows(shard, file.stem, _worked_examples(file) if worked else "")


def _worked_examples(file: Path) -> str:
    """Return the official worked examples of a subset. The warning to crawlers at the top of the file is removed."""
    for folder in (file.parent / "cot-prompts", file.parent.parent / "cot-prompts"):
        prompt = folder / f"{file.stem}.txt"
        if prompt.is_file():
            return prompt.read_text(encoding="utf-8").rpartition("-----\n")[2].strip()
    raise UsageError(
        f"no worked examples for {file.stem}",
        where=str(file),
        fix=f"put cot-prompts/{file.stem}.txt beside it, or run task bbh_direct",
    )


def after_examples(sample: Sample) -> Prompt:
    """Return a prompt with the worked examples and the question, ending with the start of an answer."""
    return Prompt(
        as_messages(f"{sample['examples']}\n\nQ: {sample.input}\n{BBH_STEPS}"),
        details={"shots": "cot-prompts"},
    )


def without_steps(sample: Sample) -> str:
    """Return the question without examples, and the required form of the answer."""
    return f"{sample.input}\n\n{BBH_DIRECT}"


BBH_HUB = "lukaemon/bbh"
BBH_FILES = "a folder of NAME.json files, with cot-prompts/NAME.txt"


MT_BENCH_FILES = (
    "question.jsonl with question_id, category and turns; "
    "reference answers and judge_prompts.jsonl beside it"
)
TEMPERATURES = {
    "writing": 0.7,
    "roleplay": 0.7,
    "extraction": 0.0,
    "math": 0.0,
    "coding": 0.0,
    "reasoning": 0.0,
    "stem": 0.1,
    "humanities": 0.1,
}
DEFAULT_TEMPERATURE = 0.7
WITH_REFERENCE = ("math", "reasoning", "coding")
"""Categories whose answers are compared with a reference."""
_REFERENCES = ("reference_answer/gpt-4.jsonl", "reference_answer_gpt-4.jsonl")
_WORDING = {
    False: ("single-v1", "single-v1-multi-turn"),
    True: ("single-math-v1", "single-math-v1-multi-turn"),
}
"""Names of the judge's prompts for the first round and for later rounds. The key is whether a reference exists."""


@dataclass(frozen=True)
class DialogueSample:
    """Converts one row to a dialogue, with its reference answers and, if requested, the judge's prompts."""

    references: Mapping[str, Sequence[str]]
    wording: Mapping[str, Mapping[str, str]] | None = None

    def __call__(self, row: Mapping[str, Any]) -> Sample:
        id = str(row.get("question_id", row.get("prompt_id", "")))
        category = str(row.get("category", ""))
        turns = row.get("turns", row.get("prompt"))
        if (
            not isinstance(turns, (list, tuple))
            or not turns
            or not all(isinstance(turn, str) for turn in turns)
        ):
            raise RowFault(
                "expected a list of turns",
                column="turns",
                got=turns,
                fix='write ["first", "second"]',
            )
        references = self.references.get(id) or row.get("reference") or ()
        # In other categories the published judge gets no reference, even if the file has one.
        if category in WITH_REFERENCE:
            texts = [str(text) for text in references]
        else:
            texts = []
        fields = {**row, "references": texts}
        if self.wording is not None:
            fields["judge_prompts"] = [
                self.wording[name] for name in _WORDING[bool(texts)]
            ]
        return Sample(
            id,
            turns[0],
            tuple(texts) or None,
            fields=fields,
            tags={"category": category},
            turns=tuple(turns[1:]),
        )


def read_dialogues(
    found: str | Path,
    *,
    published: bool,
) -> Samples:
    """Read dialogues from a file, a folder or the hub. If `published`, raise if the
    judge's published prompts are missing.
    """
    if str(found).startswith(("hub:", "hf://")):
        if published:
            raise UsageError(
                "the hub copy has no judge_prompts.jsonl",
                where=str(found),
                fix=f"--data: {MT_BENCH_FILES}",
            )
        return Samples(
            open_dataset(found).shards,
            to_sample=DialogueSample({}),
            where=str(found),
        )
    if Path(found).is_dir():
        file = Path(found) / "question.jsonl"
    else:
        file = Path(found)
    if published:
        wording = _wording(file.parent / "judge_prompts.jsonl")
    else:
        wording = None
    beside = next(
        (file.parent / name for name in _REFERENCES if (file.parent / name).is_file()),
        None,
    )
    if beside is None:
        references = {}
    else:
        references = {
            str(line["question_id"]): line["choices"][0]["turns"]
            for line in _lines(beside)
        }
    return Samples(
        open_dataset(file).shards,
        to_sample=DialogueSample(references, wording),
        where=str(file),
    )


def _wording(file: Path) -> dict[str, Mapping[str, str]]:
    prompts: dict[str, Mapping[str, str]] = {}
    if file.is_file():
        prompts.update((str(line["name"]), line) for line in _lines(file))
    missing = []
    for names in _WORDING.values():
        for name in names:
            if name not in prompts:
                missing.append(name)
    if missing:
        if prompts:
            reason = f"has no prompt {missing[0]!r}"
        else:
            reason = "is missing"
        raise UsageError(
            f"judge_prompts.jsonl {reason}",
            where=str(file.parent),
            fix="take it from the published data, or run mt_bench, which asks the judge in assay's words",
        )
    return prompts


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    # `splitlines` would also split at U+2028 and U+0085, which JSON texts may contain.
    for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
        try:
            if line.strip():
                yield json.loads(line)
        except ValueError as error:
            raise UsageError(
                f"not valid JSON: {error}", where=f"{file}:{number}"
            ) from error


def first_turn(sample: Sample) -> Prompt:
    """Return the prompt of the first turn, with the temperature that MT-Bench sets for its category."""
    temperature = TEMPERATURES.get(sample.tags.get("category", ""), DEFAULT_TEMPERATURE)
    return Prompt(
        as_messages(sample.input), options=GenerateOptions(temperature=temperature)
    )


WITH_EXAMPLES = partial(read_subsets, worked=True)
WITHOUT_EXAMPLES = partial(read_subsets, worked=False)
DIALOGUES = partial(read_dialogues, published=False)
PUBLISHED_DIALOGUES = partial(read_dialogues, published=True)
