"""Images measured by learned models: CLIPScore and FID of prompts, LPIPS of edits with a known result.

One row: `{"index": "3", "prompt": "a red ball"}`; FID also has an image to be like in `target_image` (base64), an edit
with a known result `image`, `instruction` and `target_image`.

Citations: CLIPScore arXiv 2104.08718; FID arXiv 1706.08500; LPIPS arXiv 1801.03924.

Protocols: `clip_score@official` is 2.5 max(cos, 0) with its authors' prefix, `clip_score@torchmetrics` 100 max(cos, 0)
without; both ask the model under the role `clip` (`--judge clip=worker/clip`). `fid@inception` and `fid@clip` take
features from the role `features` (`worker/inception`, `worker/clip`) and refuse sets smaller than the features are
many. `edit_similarity@lpips` asks the role `lpips`. Numbers compare only under the same weights, and FID only under the
same number of images.
"""

from typing import Any

from ...core import DataSource, Task
from ...scorers.image.clip_score import ClipScoreAsked
from ...scorers.image.fid import Fid
from ...templates import Question
from ..vision.tables import RowOf, Table
from .rows import FREE, PROMPTS, edits, prompts, target_image

LICENCE = "that of the prompts"


def image_to_be_like(row: RowOf) -> Any:
    """The image in `target_image`, where there is one."""
    return target_image(row) if row.get("target_image") else None


clip_score = Task(
    name="clip_score",
    dataset=DataSource(
        local=("clip_score.jsonl", "clip_score.tsv"),
        mini="benchmarks/data/image/prompts.jsonl",
        read=prompts(),
    ),
    template=Question(),
    scorers=(ClipScoreAsked("official"),),
    options=FREE,
    produces=("image",),
    protocol="clip_score@official",
    description="CLIPScore of images and their prompts, 0 to 2.5 (as published)",
    citation="arXiv 2104.08718",
    licence=LICENCE,
    data_hint="clip_score.jsonl with index, prompt",
)
clip_score_torchmetrics = clip_score.but(
    name="clip_score_torchmetrics",
    scorers=(ClipScoreAsked("torchmetrics"),),
    protocol="clip_score@torchmetrics",
    description="CLIPScore as torchmetrics has it, 0 to 100 (as published)",
)
fid = clip_score.but(
    name="fid",
    dataset=DataSource(
        local=("fid.jsonl", "fid.tsv"),
        mini="benchmarks/data/image/edits.jsonl",
        read=Table(shows_images=False, target=image_to_be_like, aliases=PROMPTS),
    ),
    scorers=(Fid(),),
    protocol="fid@inception",
    description="FID of the images of a set of prompts, Inception features (formula as published)",
    citation="arXiv 1706.08500",
    data_hint="fid.jsonl with index, prompt, target_image (base64)",
)
fid_clip = fid.but(
    name="fid_clip",
    protocol="fid@clip",
    description="Fréchet distance of the same on CLIP features (formula as published)",
)
edit_lpips = clip_score.but(
    name="edit_lpips",
    dataset=DataSource(
        local=("edit_similarity.tsv", "edit_similarity.jsonl"),
        mini="benchmarks/data/image/edits.jsonl",
        read=edits(target_image),
    ),
    scorers=("lpips",),
    protocol="edit_similarity@lpips",
    needs=frozenset({"image"}),
    description="Edits with a known result: LPIPS (as published)",
    citation="arXiv 1801.03924",
    licence="that of the images",
    data_hint="edit_similarity.tsv with index, image, instruction, target_image (base64)",
)
