"""Pictures from pictures: OmniContext, GEdit-Bench, ImgEdit, and edits with a known result.

One row of an edit: `{"key": "12", "image": "iVBORw0…", "instruction": "Make the ball blue.", "category": "color"}`; the
hub's GEdit-Bench calls the picture `input_image` and the kind of edit `task_type`, ImgEdit asks in `prompt`.
OmniContext has several pictures in `images` or in a list in `image`. Edits with a known result have it in
`target_image`.

Citations: OmniContext arXiv 2506.18871; GEdit-Bench arXiv 2504.17761; ImgEdit arXiv 2505.20275; SSIM IEEE TIP 13(4).

Protocols: the judge sees the pictures of the question and the one that was made; the wording is assay's own, so numbers
are not the published ones. `omnicontext@judge` and `gedit@judge` are geometric means of two ratings 0 to 10, as in
VIEScore; `imgedit@judge` the mean of three ratings 0 to 5. `edit_similarity@psnr-ssim` needs no judge: PSNR, and SSIM
of the window of its paper, against the known result.
"""

from ...core import DataSource, Task
from ...scorers.judge_ratings import JudgeRatings
from ...templates import Question
from .rows import edits, target_picture

MINI = "benchmarks/data/image/edits.jsonl"
SUBJECTS = {
    "prompt_following": "does the picture that was made show what the instruction asks for?",
    "subject_consistency": "are the persons and things of the given pictures the same in the one that was made?",
}
EDITED = {
    "success": "was the edit carried out as asked, and the rest of the given picture left alone?",
    "quality": "is the picture that was made natural and free of flaws?",
}
THREE = {
    "instruction": "was the edit carried out as asked?",
    "preservation": "was everything else left alone?",
    "quality": "is the picture that was made natural and free of flaws?",
}

omnicontext = Task(
    name="omnicontext",
    dataset=DataSource(
        local=("OmniContext.tsv", "omnicontext.jsonl"),
        mini="benchmarks/data/image/subjects.jsonl",
        read=edits(image="images"),
    ),
    template=Question(),
    scorers=(JudgeRatings(SUBJECTS, combine="geometric", expects="image", shows_question=True),),
    summarizers=("mean",),
    produces=("image",),
    protocol="omnicontext@judge",
    needs=frozenset({"image"}),
    description="OmniContext: given subjects in a new picture, judged (format-checked)",
    citation="arXiv 2506.18871",
    licence="see its data card",
    data_hint="OmniContext.tsv with index, image (a list literal for several), instruction, category",
)
gedit = omnicontext.but(
    name="gedit",
    dataset=DataSource(
        hub="stepfun-ai/GEdit-Bench",
        split="train",
        local=("GEdit-Bench.tsv", "gedit.parquet", "gedit.jsonl"),
        mini=MINI,
        read=edits(image="input_image", category="task_type"),
    ),
    scorers=(JudgeRatings(EDITED, combine="geometric", expects="image", shows_question=True),),
    protocol="gedit@judge",
    description="GEdit-Bench: edits as users ask for them, judged (format-checked)",
    citation="arXiv 2504.17761",
    data_hint="gedit.parquet with key, input_image, instruction, task_type",
)
imgedit = omnicontext.but(
    name="imgedit",
    dataset=DataSource(
        hub="kcz358/imgedit",
        local=("ImgEdit.tsv", "imgedit.parquet", "imgedit.jsonl"),
        mini=MINI,
        read=edits(image="input_image", category="edit_type", question="prompt"),
    ),
    scorers=(JudgeRatings(THREE, highest=5, expects="image", shows_question=True),),
    protocol="imgedit@judge",
    description="ImgEdit: a judge's three ratings of an edit (format-checked)",
    citation="arXiv 2505.20275",
    data_hint="imgedit.parquet with key, input_image, prompt, edit_type",
)
edit_similarity = omnicontext.but(
    name="edit_similarity",
    dataset=DataSource(local=("edit_similarity.tsv", "edit_similarity.jsonl"), mini=MINI, read=edits(target_picture)),
    scorers=("image_similarity",),
    protocol="edit_similarity@psnr-ssim",
    description="Edits with a known result: PSNR and SSIM (format-checked)",
    citation="IEEE TIP 13(4), 600-612",
    licence="that of the pictures",
    data_hint="edit_similarity.tsv with index, image, instruction, target_image (base64)",
)
