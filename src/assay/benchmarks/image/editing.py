"""Images from images: OmniContext, GEdit-Bench, ImgEdit, and edits with a known result.

One row of an edit: `{"key": "12", "image": "iVBORw0…", "instruction": "Make the ball blue.", "category": "color"}`; the
hub's GEdit-Bench calls the image `input_image` and the kind of edit `task_type`, ImgEdit asks in `prompt`.
OmniContext has several images in `images` or in a list in `image`. Edits with a known result have it in
`target_image`.

Citations: OmniContext arXiv 2506.18871; GEdit-Bench arXiv 2504.17761; ImgEdit arXiv 2505.20275; SSIM IEEE TIP 13(4).

Protocols: the judge sees the images of the question and the one that was made; its requests are worded by assay, the
arithmetic is the official one. `omnicontext@judge-v2`: the geometric mean of two ratings 0 to 10, and every value is
the mean of the means of the task types (`omnicontext/calculate_statistics.py`). `gedit@judge-en` and
`gedit_cn@judge-cn` (GEdit-Bench, `calculate_statistics.py`): the rows of one language; semantics and quality are each
the least of two ratings 0 to 10, overall their geometric mean, and every value is the mean of the means of the task
types. `imgedit@judge-1-5` (ImgEdit, `step1` and `step2`): the mean of three ratings 1 to 5, of which the second and
third may not exceed the first, averaged by edit type. `edit_similarity@psnr-ssim` needs no judge: PSNR, and SSIM of
the window of its paper, against the known result.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...core import DataSource, Task
from ...datasets.tsv_images import is_blank
from ...scorers.judge.judge_ratings import JudgeRatings
from ...summarizers.weighted import GroupMean
from ...templates import Question
from ..vision.tables import RowOf
from .rows import edits, target_image

MINI = "benchmarks/data/image/edits.jsonl"
SUBJECTS = {
    "prompt_following": "does the picture that was made show what the instruction asks for?",
    "subject_consistency": "are the persons and things of the given pictures the same in the one that was made?",
}
THREE = {
    "compliance": "was the edit carried out as asked?",
    "naturalness": "does the edit blend in without visible traces?",
    "integrity": "are light, perspective and the details of the rest physically sound and kept?",
}


def language(*codes: str) -> Callable[[RowOf], Sequence[RowOf]]:
    """Leaves the rows whose instruction is in one language; a table that names none is taken whole."""

    def rows(row: RowOf) -> Sequence[RowOf]:
        code = row.get("instruction_language")
        return [row] if is_blank(code) or str(code).lower() in codes else []

    return rows


def by_type(scorer: str, *values: str) -> tuple[GroupMean, ...]:
    """The mean over the kinds of edits of each value."""
    return tuple(
        GroupMean("category", metric=f"{scorer}.{value}", name=f"{scorer}.{value}")
        for value in values
    )


def _gedit(*codes: str) -> DataSource:
    return DataSource(
        hub="stepfun-ai/GEdit-Bench",
        split="train",
        local=("GEdit-Bench.tsv", "gedit.parquet", "gedit.jsonl"),
        mini="benchmarks/data/image/gedit.jsonl",
        read=replace(
            edits(image="input_image", category="task_type"), reshape=language(*codes)
        ),
    )


omnicontext = Task(
    name="omnicontext",
    dataset=DataSource(
        local=("OmniContext.tsv", "omnicontext.jsonl"),
        mini="benchmarks/data/image/subjects.jsonl",
        read=replace(
            edits(image="images", category="task_type"), reshape=language("en")
        ),
    ),
    template=Question(),
    scorers=(
        JudgeRatings(
            SUBJECTS, combine="geometric", expects="image", shows_question=True
        ),
    ),
    summarizers=by_type("judge_ratings", "overall", *SUBJECTS),
    produces=("image",),
    protocol="omnicontext@judge-v2",
    needs=frozenset({"image"}),
    description="OmniContext: given subjects in a new image, judged (arithmetic as published)",
    citation="arXiv 2506.18871",
    licence="see its data card",
    data_hint="OmniContext.tsv with index, image (a list literal for several), instruction, category",
)
gedit = omnicontext.but(
    name="gedit",
    dataset=_gedit("en"),
    scorers=("viescore",),
    summarizers=by_type("viescore", "overall", "semantics", "quality"),
    protocol="gedit@judge-en",
    description="GEdit-Bench, English: edits as users ask for them, judged (arithmetic as published)",
    citation="arXiv 2504.17761",
    data_hint="gedit.parquet with key, input_image, instruction, instruction_language, task_type",
)
gedit_cn = gedit.but(
    name="gedit_cn",
    dataset=_gedit("cn", "zh"),
    protocol="gedit@judge-cn",
    description="GEdit-Bench, Chinese: edits as users ask for them, judged (arithmetic as published)",
)
imgedit = omnicontext.but(
    name="imgedit",
    dataset=DataSource(
        hub="kcz358/imgedit",
        local=("ImgEdit.tsv", "imgedit.parquet", "imgedit.jsonl"),
        mini=MINI,
        read=edits(image="input_image", category="edit_type", question="prompt"),
    ),
    scorers=(
        JudgeRatings(
            THREE,
            lowest=1,
            highest=5,
            capped_by="compliance",
            expects="image",
            shows_question=True,
        ),
    ),
    summarizers=by_type("judge_ratings", "overall", *THREE),
    protocol="imgedit@judge-1-5",
    description="ImgEdit: a judge's three ratings of an edit (arithmetic as published)",
    citation="arXiv 2505.20275",
    data_hint="imgedit.parquet with key, input_image, prompt, edit_type",
)
edit_similarity = omnicontext.but(
    name="edit_similarity",
    dataset=DataSource(
        local=("edit_similarity.tsv", "edit_similarity.jsonl"),
        mini=MINI,
        read=edits(target_image),
    ),
    scorers=("image_similarity",),
    summarizers=("mean",),
    protocol="edit_similarity@psnr-ssim",
    description="Edits with a known result: PSNR and SSIM (formulas as published)",
    citation="IEEE TIP 13(4), 600-612",
    licence="that of the images",
    data_hint="edit_similarity.tsv with index, image, instruction, target_image (base64)",
)
