"""Recognise files written for ULMEvalKit: they import `ulmeval`, are in its tree, or were copied from it."""

from pathlib import Path

from ..kits.user_code import speaks_of_drawing
from ..placing import home_of as package_of
from ..placing import tree_above

_HERE = "assay.dialects.ulmeval"
_KITS = "assay.dialects.kits"
_DATASETS = (
    "DATASET_CLASSES DATASET_MODALITY DATASET_TYPE DEBUG_MESSAGE IMAGE_DATASET ImageBaseDataset SUPPORTED_DATASETS "
    "TEXT_DATASET TextBaseDataset build_dataset build_judge dump infer_dataset_basename load"
)
_JUDGES = "DEBUG_MESSAGE build_judge"
NAMES: dict[str, str] = {
    "ulmeval": f"{_HERE}.ulmeval_package_names",
    "ulmeval.api": f"{_HERE}.drawing_models: BaseAPI OpenAIWrapper",
    "ulmeval.api.base": f"{_HERE}.drawing_models: BaseAPI",
    "ulmeval.api.gpt": f"{_HERE}.drawing_models: OpenAIWrapper",
    "ulmeval.config": f"{_HERE}.drawing_models: api_models partial supported_ULM",
    "ulmeval.dataset": f"{_HERE}.drawing_datasets: {_DATASETS}",
    "ulmeval.dataset.image_base": f"{_HERE}.drawing_datasets: ImageBaseDataset img_root_map",
    "ulmeval.dataset.text_base": f"{_HERE}.drawing_datasets: TextBaseDataset",
    "ulmeval.dataset.utils": f"{_HERE}.drawing_datasets: {_JUDGES}",
    "ulmeval.dataset.utils.judge_util": f"{_HERE}.drawing_datasets: {_JUDGES}",
    "ulmeval.smp": f"{_KITS}.smp",
    "ulmeval.smp.ulm": f"{_KITS}.smp.images",
    "ulmeval.ulm": f"{_HERE}.drawing_models: BaseModel",
    "ulmeval.ulm.base": f"{_HERE}.drawing_models: BaseModel",
    "ulmeval.utils": f"{_KITS}.many_calls: track_progress_rich",
    "ulmeval.utils.mp_util": f"{_KITS}.many_calls",
}
"""The modules of ULMEvalKit that assay replaces: its own module, or `module: names` for a part of one."""


def claims(path: Path, imports: frozenset[str]) -> str | None:
    """Return the reason why a file belongs to ULMEvalKit, or None."""
    imported = next(
        (name for name in sorted(imports) if name.partition(".")[0] in NAMES), None
    )
    if imported is not None:
        return f"imports {imported}"
    if path.suffix != ".py" or not path.is_file():
        return None
    if tree_above(path.resolve(), NAMES) is not None:
        return "is in a tree of ulmeval"
    home = package_of(path.resolve(), NAMES) if speaks_of_drawing(path) else None
    return (
        f"imports its neighbours as a module of {home} does, and mentions drawn images"
        if home
        else None
    )
