"""Hateful Memes: is a meme hateful, which neither its image nor its text says alone?

One row: `{"id": 1234, "img": "img/01234.png", "label": 0, "text": "look who came to lunch"}`; `label` is 1 for hateful.
Copies in the usual table have `image` (base64) instead of `img`.

Citation: Kiela et al. 2020, The Hateful Memes Challenge, arXiv 2005.04790. Licence: the challenge's own, to be
accepted before download.

Protocol: the text of the meme is given beside the image, yes or no is asked for, greedy decoding. Accuracy (the mean
of `yes_probability`) and `auroc`, the challenge's metric, as scikit-learn's `roc_auc_score` has it: over the
probability of yes where the backend reports the first token's alternatives, else over the verdicts, which is coarser.
Published numbers are on `dev_seen` or `test_seen`; say which with `--split`.
"""

from collections.abc import Mapping
from typing import Any

from ...core import (
    DataSource,
    GenerateOptions,
    Message,
    Part,
    Prompt,
    Sample,
    Task,
    Text,
)
from ...datasets.faults import RowFault
from .tables import Table

ANSWERS = {
    "0": "no",
    "1": "yes",
    "not-hateful": "no",
    "hateful": "yes",
    "no": "no",
    "yes": "yes",
}


def verdict_of(row: Mapping[str, Any]) -> str | None:
    """The label as the word that is asked for; `None` in the test files of the challenge, which have none."""
    label = row.get("label", row.get("answer"))
    if label in (None, ""):
        return None
    answer = ANSWERS.get(str(label).strip().lower())
    if answer is None:
        raise RowFault(
            "neither hateful nor not", column="label", got=label, fix="0 or 1"
        )
    return answer


def ask(sample: Sample) -> Prompt:
    """The image, the words on it, and the question."""
    words = " ".join(str(sample.fields.get("text") or "").split())
    caption = f'The meme says: "{words}"\n' if words else ""
    parts: tuple[Part, ...] = (*sample.media, Text(f"{caption}{sample.input}"))  # type: ignore[arg-type]
    return Prompt((Message("user", parts),))


hateful_memes = Task(
    name="hateful_memes",
    dataset=DataSource(
        local=(
            "dev_seen.jsonl",
            "dev.jsonl",
            "hateful_memes.jsonl",
            "hateful_memes.tsv",
        ),
        mini="benchmarks/data/vision/memes.tsv",
        read=Table(
            target=verdict_of,
            question="Is this meme hateful? Answer yes or no.",
            aliases={"index": "id", "image_path": "img"},
        ),
    ),
    template=ask,
    scorers=("yes_probability",),
    options=GenerateOptions(temperature=0.0, max_tokens=16),
    protocol="hateful_memes@yes-no",
    needs=frozenset({"image"}),
    description="Hateful Memes: accuracy and AUROC (AUROC as published)",
    citation="arXiv 2005.04790",
    licence="Hateful Memes Dataset License",
    data_hint="a folder with dev_seen.jsonl (id, img, label, text) and img/",
)
