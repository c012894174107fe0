"""Recognise VLMEvalKit's inputs: files that import it, classes with its methods, TSVs with its columns."""

import ast
from pathlib import Path

from ...code.sources import parsed
from ..kits.user_code import speaks_of_drawing
from ..placing import home_of as package_of
from ..placing import tree_above

_HERE = "assay.dialects.vlmeval"
_KITS = "assay.dialects.kits"
_MATCHING = "can_infer can_infer_option can_infer_text"
_TSV = "DATASET_TYPE TSVDataset dataset_URLs img_root_map"
_DATASETS = (
    "CUSTOM_DATASET DATASET_CLASSES DATASET_COLLECTION DATASET_MODALITY DATASET_TYPE DEBUG_MESSAGE IMAGE_DATASET "
    "SUPPORTED_DATASETS TEXT_DATASET VIDEO_DATASET ConcatDataset CustomMCQDataset CustomTextMCQDataset "
    "CustomVQADataset ImageBaseDataset ImageMCQDataset ImageMTDataset ImageVQADataset ImageYORNDataset "
    "TextBaseDataset TextMCQDataset VideoBaseDataset build_dataset build_judge img_root_map infer_dataset_basename "
    "supported_video_datasets"
)
_CHOICE = (
    "STANDS_IN MMB_abbrs build_choices build_option_str build_prompt build_prompt_blink build_prompt_cn "
    "build_prompt_wemath can_infer eval_circular_group eval_vanilla extract_answer_from_item mcq_circular_eval "
    "mcq_vanilla_eval prefetch_answer prefetch_circular_group report_acc"
)
_UTILS = "DEBUG_MESSAGE build_judge extract_answer_from_item prefetch_answer report_acc track_progress_rich"
_YES_NO = (
    "STANDS_IN AMBER_rating Hallusion_rating MME_rating POPE_rating VSR_rating YOrN_Extraction YOrN_auxeval "
    "YOrN_match_prompt default_rating"
)
NAMES: dict[str, str] = {
    "vlmeval": f"{_HERE}.vlmeval_package_names",
    "vlmeval.api": f"{_HERE}.api_models: BaseAPI GPT4V OpenAIWrapper",
    "vlmeval.api.base": f"{_HERE}.vlmeval_model_bases: BaseAPI",
    "vlmeval.api.gpt": f"{_HERE}.api_models: STANDS_IN GPT4V OpenAIWrapper",
    "vlmeval.chat_api": f"{_HERE}.vlmeval_judging: OpenAIWrapper OpenAIWrapperInternal",
    "vlmeval.config": f"{_HERE}.vlmeval_toolkit: api_models partial supported_VLM",
    "vlmeval.dataset": f"{_HERE}.dataset_names: {_DATASETS}",
    "vlmeval.dataset.image_base": f"{_HERE}.dataset_bases: ImageBaseDataset img_root_map",
    "vlmeval.dataset.image_mcq": f"{_HERE}.dataset_kinds: CustomMCQDataset ImageMCQDataset",
    "vlmeval.dataset.image_mt": f"{_HERE}.dataset_kinds: ImageMTDataset",
    "vlmeval.dataset.image_vqa": f"{_HERE}.dataset_kinds: CustomVQADataset ImageVQADataset",
    "vlmeval.dataset.image_yorn": f"{_HERE}.dataset_kinds: ImageYORNDataset",
    "vlmeval.dataset.text_base": f"{_HERE}.dataset_bases: TextBaseDataset",
    "vlmeval.dataset.text_mcq": f"{_HERE}.dataset_kinds: CustomTextMCQDataset TextMCQDataset",
    "vlmeval.dataset.utils": f"{_HERE}.matched_choice: {_UTILS}",
    "vlmeval.dataset.utils.judge_util": f"{_HERE}.vlmeval_judging: DEBUG_MESSAGE build_judge",
    "vlmeval.dataset.utils.multiple_choice": f"{_HERE}.matched_choice: {_CHOICE}",
    "vlmeval.dataset.utils.yorn": f"{_HERE}.vlmeval_ratings: {_YES_NO}",
    "vlmeval.dataset.video_base": f"{_HERE}.dataset_bases: VideoBaseDataset",
    "vlmeval.dataset.video_dataset_config": f"{_HERE}.dataset_names: supported_video_datasets",
    "vlmeval.smp": f"{_KITS}.smp",
    "vlmeval.smp.vlm": f"{_KITS}.smp.images",
    "vlmeval.utils": f"{_HERE}.tsv_dataset: {_TSV} {_MATCHING} track_progress_rich",
    "vlmeval.utils.data_util": f"{_HERE}.tsv_dataset: {_TSV}",
    "vlmeval.utils.dataset_config": f"{_HERE}.tsv_dataset: DATASET_TYPE dataset_URLs img_root_map",
    "vlmeval.utils.matching_util": f"{_HERE}.letters: {_MATCHING}",
    "vlmeval.utils.mp_util": f"{_KITS}.many_calls",
    "vlmeval.vlm": f"{_HERE}.vlmeval_model_bases: BaseModel",
    "vlmeval.vlm.base": f"{_HERE}.vlmeval_model_bases: BaseModel",
}
"""The modules of VLMEvalKit that assay replaces: its own module, or `module: names` for a part of one."""
FORK = "ulmeval"
"""The fork has most of the same names. A file that imports it does not belong to VLMEvalKit."""
FORK_NAMES = {name.replace("vlmeval", FORK, 1): real for name, real in NAMES.items()}
HEADER_BYTES = 64 * 1024


def claims(path: Path, imports: frozenset[str]) -> str | None:
    """Return why a file belongs to VLMEvalKit, or None if it does not."""
    tops = {name.partition(".")[0] for name in imports}
    if FORK in tops:
        return None
    if "vlmeval" in tops:
        return "it imports vlmeval"
    if path.suffix == ".py":
        return _claims_place(path) or _claims_class(path)
    if path.suffix.lower() == ".tsv" and path.is_file():
        return _claims_table(path)
    return None


def _claims_place(path: Path) -> str | None:
    """Recognise a file by its location, or by the location that its relative imports require."""
    if not path.is_file() or tree_above(path.resolve(), FORK_NAMES) is not None:
        return None
    if tree_above(path.resolve(), NAMES) is not None:
        return "it is in a tree of vlmeval"
    home = package_of(path.resolve(), NAMES)
    return (
        f"it imports its neighbours as a module of {home} does"
        if home and not speaks_of_drawing(path)
        else None
    )


def _claims_class(path: Path) -> str | None:
    tree = parsed(path)
    for node in ast.walk(tree) if tree else ():
        if not isinstance(node, ast.ClassDef):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                names = [
                    argument.arg
                    for argument in method.args.args
                    if argument.arg not in ("self", "cls")
                ]
                if method.name == "generate" and names[:2] == ["image_path", "prompt"]:
                    return f"its class {node.name} has generate(image_path, prompt)"
                if method.name == "build_prompt" and names[:2] == ["line", "dataset"]:
                    return f"its class {node.name} has build_prompt(line, dataset)"
    return None


def _claims_table(path: Path) -> str | None:
    """Recognise a table by its header; no rows are read."""
    with path.open("rb") as file:
        header = file.readline(HEADER_BYTES).decode("utf-8", "replace").rstrip("\r\n")
    columns = {name.strip('"') for name in header.split("\t")}
    if not {"index", "question"} <= columns:
        return None
    image_columns = sorted(columns & {"image", "image_path", "g_index"})
    return (
        f"a TSV with the columns index, question and {image_columns[0]}"
        if image_columns
        else None
    )
