"""Libraries that `from vlmeval.smp import *` has always brought along, loaded when they are asked for."""

import importlib
import importlib.util
from types import ModuleType
from typing import Any

PLACES = {
    "abc": "abc",
    "argparse": "argparse",
    "base64": "base64",
    "copy": "copy",
    "cp": "copy",
    "csv": "csv",
    "datetime": "datetime",
    "hashlib": "hashlib",
    "io": "io",
    "json": "json",
    "logging": "logging",
    "math": "math",
    "mimetypes": "mimetypes",
    "mp": "multiprocessing",
    "os": "os",
    "osp": "os.path",
    "pickle": "pickle",
    "re": "re",
    "random": "random",
    "rd": "random",
    "shutil": "shutil",
    "sh": "shutil",
    "string": "string",
    "subprocess": "subprocess",
    "sys": "sys",
    "time": "time",
    "warnings": "warnings",
    "np": "numpy",
    "pd": "pandas",
    "requests": "requests",
    "Image": "PIL.Image",
    "plt": "matplotlib.pyplot",
    "sns": "seaborn",
    "validators": "validators",
    "JSONDecoder": "json:JSONDecoder",
    "OrderedDict": "collections:OrderedDict",
    "Optional": "typing:Optional",
    "Path": "pathlib:Path",
    "Pool": "multiprocessing:Pool",
    "current_process": "multiprocessing:current_process",
    "defaultdict": "collections:defaultdict",
    "partial": "functools:partial",
    "tabulate": "tabulate:tabulate",
    "tabulate_formats": "tabulate:tabulate_formats",
    "tqdm": "tqdm:tqdm",
    "uuid4": "uuid:uuid4",
    "decord": "decord",
    "scan_cache_dir": "huggingface_hub:scan_cache_dir",
    "bg": "sty:bg",
    "ef": "sty:ef",
    "rs": "sty:rs",
}
"""Short names, and where they come from; of one that is not installed nothing is offered."""


def offered(*modules: ModuleType) -> list[str]:
    """What a star import takes: the names of modules, and the short names whose library is installed."""
    names = [
        name
        for module in modules
        for name in getattr(module, "__all__", vars(module))
        if name[0] != "_"
    ]
    return names + [
        name
        for name, place in PLACES.items()
        if _is_installed(place.partition(":")[0].partition(".")[0])
    ]


def _is_installed(top: str) -> bool:
    try:
        return importlib.util.find_spec(top) is not None
    except (ImportError, ValueError):
        return False


def library(name: str, module: str) -> Any:
    """What a short name stands for, for a module `__getattr__`."""
    if name not in PLACES:
        kit, _, part = module.partition(".")
        raise AttributeError(f"the {kit} dialect has no {name!r} in '{kit}.{part}'")
    place, _, attribute = PLACES[name].partition(":")
    try:
        found = importlib.import_module(place)
    except ImportError as error:
        raise AttributeError(
            f"{place} is not installed: pip install 'assay[guests]'"
        ) from error
    return getattr(found, attribute) if attribute else found
