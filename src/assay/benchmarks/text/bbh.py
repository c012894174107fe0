"""BIG-Bench Hard: 27 subsets of reasoning questions, each a file.

One row: `{"input": "not ( True ) and ( True ) is", "target": "False"}` in `boolean_expressions.json`, under `examples`.

Citation: Suzgun et al. 2022, Challenging BIG-Bench Tasks and Whether Chain-of-Thought Can Solve Them, arXiv 2210.09261.
Licence: MIT.

Protocols: `bbh` puts the official worked examples of the subset (`cot-prompts/NAME.txt` beside its file) before the
question and reads what follows "the answer is"; `bbh_direct` asks without steps, and the first line is the answer. The
result has a line for each subset found.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ...core import (
    DataSource,
    GenerateOptions,
    Prompt,
    Sample,
    Task,
    UsageError,
    as_messages,
)
from ...datasets import Samples, open_dataset
from ...datasets.shards import Row, RowData, ShardOver

MINI = "benchmarks/data/text/bbh"
STEPS = "A: Let's think step by step."
DIRECT = "Write only the final answer, on one line. Of lettered options write the letter, as (A)."
SUBSETS = (
    "boolean_expressions",
    "causal_judgement",
    "date_understanding",
    "disambiguation_qa",
    "dyck_languages",
    "formal_fallacies",
    "geometric_shapes",
    "hyperbaton",
    "logical_deduction_five_objects",
    "logical_deduction_seven_objects",
    "logical_deduction_three_objects",
    "movie_recommendation",
    "multistep_arithmetic_two",
    "navigate",
    "object_counting",
    "penguins_in_a_table",
    "reasoning_about_colored_objects",
    "ruin_names",
    "salient_translation_error_detection",
    "snarks",
    "sports_understanding",
    "temporal_sequences",
    "tracking_shuffled_objects_five_objects",
    "tracking_shuffled_objects_seven_objects",
    "tracking_shuffled_objects_three_objects",
    "web_of_lies",
    "word_sorting",
)


@dataclass(frozen=True)
class SubsetRows(ShardOver):
    """The rows of one subset, each with the subset's name, an id and the worked examples to show before it."""

    subset: str
    examples: str = ""
    columns: None = None

    @property
    def known_length(self) -> int | None:
        """How many rows there are, where that is known."""
        return self.shard.known_length

    @property
    def seekable(self) -> bool:
        """Whether single rows can be read alone."""
        return self.shard.seekable

    def rows(self) -> Iterator[Row]:
        """The rows in order."""
        for number, offset, row in self.shard.rows():
            yield number, offset, self._named(row, number)

    def row_at(self, number: int, offset: int) -> RowData:
        """One row again."""
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


def read_subsets(found: str | Path, *, worked: bool) -> Samples:
    """All subsets of a folder, of one file, or of the hub; `worked` demands the official worked examples of each."""
    files = [] if str(found).startswith(("hub:", "hf://")) else _files(Path(found))
    if files:
        shards = [_subset(file, worked) for file in files]
    elif worked:
        raise UsageError(
            "the hub copy has no worked examples",
            where=str(found),
            fix="--data FOLDER with the official files and their cot-prompts, or task bbh_direct",
        )
    else:
        names = {name: f"hub:{HUB}@{name}#test" for name in SUBSETS}
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
        raise UsageError("no subset files", where=str(found), fix=f"--data: {HINT}")
    return sorted(folder.glob("*.json"))


def _subset(file: Path, worked: bool) -> SubsetRows:
    shard = open_dataset(file, columns={"input": "input", "target": "target"}).shards[0]
    return SubsetRows(shard, file.stem, _worked_examples(file) if worked else "")


def _worked_examples(file: Path) -> str:
    """The official text of a subset, less the warning to crawlers above the line of dashes."""
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
    """The worked examples, then the question with its answer begun."""
    return Prompt(
        as_messages(f"{sample['examples']}\n\nQ: {sample.input}\n{STEPS}"),
        details={"shots": "cot-prompts"},
    )


def without_steps(sample: Sample) -> str:
    """The question alone, with what the answer must look like."""
    return f"{sample.input}\n\n{DIRECT}"


HUB = "lukaemon/bbh"
HINT = "a folder of NAME.json files, with cot-prompts/NAME.txt"
_OPTIONS = GenerateOptions(
    temperature=0.0, max_tokens=1024, stop=("\nQ:", "</s>", "<|im_end|>")
)

bbh = Task(
    name="bbh",
    dataset=DataSource(
        hub=HUB,
        split="test",
        local=("bbh", "."),
        mini=MINI,
        read=partial(read_subsets, worked=True),
    ),
    template=after_examples,
    scorers=("bbh",),
    options=_OPTIONS,
    tags=("subset",),
    protocol="bbh@cot",
    description="27 hard reasoning sets after three worked examples each",
    citation="arXiv 2210.09261",
    licence="MIT",
    data_hint=HINT,
)

bbh_direct = bbh.but(
    name="bbh_direct",
    dataset=DataSource(
        hub=HUB,
        split="test",
        local=("bbh", "."),
        mini=MINI,
        read=partial(read_subsets, worked=False),
    ),
    template=without_steps,
    scorers=({"name": "bbh", "answer": "first_line"},),
    options=_OPTIONS.set(max_tokens=64),
    protocol="bbh@direct",
    description="BIG-Bench Hard without steps: the answer at once",
)
