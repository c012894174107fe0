"""Yes or no about an image: MME by pairs, POPE by either rule, HallusionBench by questions and figures.

One row of MME: `{"index": 2, "image": "iVBORw0…", "image_path": "code/0002.png", "question": "Is the sum 12? Please
answer yes or no.", "answer": "Yes", "category": "code_reasoning"}`; the row with the odd index after it asks about the
same image. Of POPE: `category` says `random`, `popular` or `adversarial`, or several of them with commas, and the
question counts under each. Of HallusionBench: set, figure and question are in columns `set_id`, `figure_id`,
`question_id`, or are the fourth to sixth part of the index between underscores; `category` says `VD` or `VS`.

Citations: MME arXiv 2306.13394; POPE arXiv 2305.10355; HallusionBench arXiv 2310.14566.

Protocols: `@words` reads exactly one of the words yes and no (VLMEvalKit's rule). `pope_official` is the rule of POPE's
own script, which takes for yes what does not deny; `mme_official` looks at the first four letters only;
`pope_lmms_eval` asks for a single word and takes nothing else. `hallusionbench` counts sets and figures as VLMEvalKit
does; `hallusionbench_official` as its own script: sets of `VD` and `VS` apart, and no figure where `VS` shows none.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...core import DataSource, GenerateOptions, Task
from ...datasets.faults import RowFault
from ...datasets.tsv_images import is_blank
from ...summarizers.pairs import HallusionBench
from ...templates import Question
from .short_answers import short_answer
from .tables import Table, image_of, whole_number

PLACES = {"set_id": 3, "figure_id": 4, "question_id": 5}


def pair_of(row: Mapping[str, Any]) -> str | None:
    """What the two questions about an image have in common: its path within the category, else the even index."""
    if image := image_of(row):
        return f"{row.get('category', '')}/{image}"
    index = whole_number(row.get("index"))
    return None if index is None else str(index - index % 2)


def first_of_pair(row: Mapping[str, Any]) -> str | None:
    """The row whose image the second question of a pair is about."""
    index = whole_number(row.get("index"))
    return str(index - 1) if index is not None and index % 2 else None


def by_category(row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The row once for each category it belongs to."""
    categories = [
        name.strip()
        for name in str(row.get("category") or "").split(",")
        if name.strip()
    ]
    if len(categories) < 2:
        return [row]
    return [
        {**row, "index": f"{row['index']}:{name}", "category": name}
        for name in categories
    ]


def places_of(row: Mapping[str, Any]) -> dict[str, str]:
    """Set, figure and question of HallusionBench, and the field they are numbered in."""
    parts = str(row.get("index")).split("_")
    found = {}
    for name, place in PLACES.items():
        if not is_blank(row.get(name)):
            found[name] = str(row[name])
        elif len(parts) > place:
            found[name] = parts[place]
        else:
            raise RowFault(
                f"no {name}",
                column="index",
                got=row.get("index"),
                fix=f"give a column {name}",
            )
    return {
        **found,
        "l2-category": str(row.get("l2-category") or row.get("subcategory") or ""),
    }


def _task(
    name: str, file: str, what: str, table: Table, citation: str, licence: str
) -> Task:
    return Task(
        name=name,
        dataset=DataSource(
            local=(f"{file}.tsv",), mini="benchmarks/data/vision/yes_no.tsv", read=table
        ),
        template=Question(),
        scorers=("yes_no",),
        options=GenerateOptions(temperature=0.0, max_tokens=32),
        protocol=f"{name}@words",
        needs=frozenset({"image"}),
        description=f"{what} (as published)",
        citation=citation,
        licence=licence,
        data_hint=f"{file}.tsv with index, image or image_path, question, answer (Yes, No), category",
    )


_MME = Table(group=pair_of, cluster=pair_of, lender=first_of_pair)
mme = _task(
    "mme",
    "MME",
    "MME: acc, acc+, perception, cognition",
    _MME,
    "arXiv 2306.13394",
    "research use",
).but(summarizers=("mme", "mean"))
mme_official = mme.but(
    name="mme_official",
    scorers=({"name": "yes_no", "rule": "mme_official"},),
    protocol="mme@official",
    description="MME, the first four letters read (its own script, as published)",
)
_POPE = Table(cluster=image_of, reshape=by_category)
pope = _task(
    "pope", "POPE", "POPE: objects that are not there", _POPE, "arXiv 2305.10355", "MIT"
).but(
    dataset=DataSource(
        local=("POPE.tsv",), mini="benchmarks/data/vision/pope.tsv", read=_POPE
    ),
    summarizers=("yes_no",),
)
pope_official = pope.but(
    name="pope_official",
    scorers=({"name": "yes_no", "rule": "pope_official"},),
    protocol="pope@official",
    description="POPE, what does not deny is yes (its own script, as published)",
)
pope_lmms_eval = pope.but(
    name="pope_lmms_eval",
    template=short_answer,
    options=GenerateOptions(temperature=0.0, max_tokens=128),
    scorers=({"name": "yes_no", "rule": "lmms_eval"},),
    summarizers=({"name": "yes_no", "counting": "lmms_eval"},),
    protocol="pope@lmms_eval-v2",
    description="POPE by lmms-eval: the bare word, others left out of recall (as published)",
)
_HALLUSION = Table(tags=places_of, shows_images=False)
_WHAT = "HallusionBench: aAcc, qAcc, fAcc"
hallusionbench = _task(
    "hallusionbench",
    "HallusionBench",
    _WHAT,
    _HALLUSION,
    "arXiv 2310.14566",
    "BSD-3-Clause",
).but(summarizers=("hallusionbench",))
hallusionbench_official = hallusionbench.but(
    name="hallusionbench_official",
    summarizers=(
        HallusionBench(
            set=("category", "l2-category", "set_id"), figureless=("VS", "0")
        ),
    ),
    protocol="hallusionbench@official",
    description="HallusionBench, its own script's sets and figures (counted as published)",
)
