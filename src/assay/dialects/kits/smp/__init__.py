"""The toolkits' `smp`: helper functions, and the libraries that `from …smp import *` provides."""

import importlib
from types import ModuleType

from ...source_names import module_exists as _module_exists
from . import file, images, log, misc
from .file import *  # noqa: F403
from .images import *  # noqa: F403
from .images import concat_images_ulmeval as concat_images_ulmeval
from .images import concat_images_vlmeval as concat_images_vlmeval
from .log import *  # noqa: F403
from .log import names_for as names_for
from .misc import *  # noqa: F403
from .misc import build_option_str as build_option_str
from .misc import gpt_key_set as gpt_key_set

logger = log.get_logger()
SHORT_NAMES = {
    "abc": "abc", "argparse": "argparse", "base64": "base64", "copy": "copy", "cp": "copy", "csv": "csv",
    "datetime": "datetime", "hashlib": "hashlib", "io": "io", "json": "json", "logging": "logging", "math": "math",
    "mimetypes": "mimetypes", "mp": "multiprocessing", "os": "os", "osp": "os.path", "pickle": "pickle", "re": "re",
    "random": "random", "rd": "random", "shutil": "shutil", "sh": "shutil", "string": "string",
    "subprocess": "subprocess", "sys": "sys", "time": "time", "warnings": "warnings", "np": "numpy", "pd": "pandas",
    "requests": "requests", "Image": "PIL.Image", "plt": "matplotlib.pyplot", "sns": "seaborn",
    "validators": "validators",
    "JSONDecoder": "json:JSONDecoder", "OrderedDict": "collections:OrderedDict", "Optional": "typing:Optional",
    "Path": "pathlib:Path", "Pool": "multiprocessing:Pool", "current_process": "multiprocessing:current_process",
    "defaultdict": "collections:defaultdict", "partial": "functools:partial", "tabulate": "tabulate:tabulate",
    "tabulate_formats": "tabulate:tabulate_formats", "tqdm": "tqdm:tqdm", "uuid4": "uuid:uuid4", "decord": "decord",
    "scan_cache_dir": "huggingface_hub:scan_cache_dir", "bg": "sty:bg", "ef": "sty:ef", "rs": "sty:rs",
}  # fmt: skip
"""Names that a star import provides from other libraries, each with its `module:name`.

Libraries that are not installed are left out.
"""


def offered(*modules: ModuleType) -> list[str]:
    """Return the names that a star import provides: those of the given modules, and the installed libraries."""
    names = [
        name
        for module in modules
        for name in getattr(module, "__all__", vars(module))
        if name[0] != "_"
    ]
    return names + [
        name
        for name, target in SHORT_NAMES.items()
        if _module_exists(target.partition(":")[0].partition(".")[0])
    ]


def __getattr__(name: str) -> object:
    """Import a library on the first access to its name."""
    if name not in SHORT_NAMES:
        raise AttributeError(f"the toolkit's smp has no {name!r}")
    module_name, _, attribute = SHORT_NAMES[name].partition(":")
    try:
        imported = importlib.import_module(module_name)
    except ImportError as error:
        raise AttributeError(
            f"{module_name} is not installed: pip install 'assay[guests]'"
        ) from error
    return getattr(imported, attribute) if attribute else imported


__all__ = ["logger", *offered(file, images, log, misc)]
