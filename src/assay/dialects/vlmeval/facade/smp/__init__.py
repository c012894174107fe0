"""`vlmeval.smp`: the helpers user files take with a star, and the libraries that come along with them."""

import importlib
import importlib.util
from typing import Any

from . import documented, file, log, misc, vlm
from .documented import *  # noqa: F403
from .file import *  # noqa: F403
from .log import *  # noqa: F403
from .misc import *  # noqa: F403
from .vlm import *  # noqa: F403

_LIBRARIES = {
    "os": "os", "osp": "os.path", "sys": "sys", "json": "json", "csv": "csv", "re": "re", "string": "string",
    "time": "time", "math": "math", "random": "random", "rd": "random", "copy": "copy", "cp": "copy",
    "shutil": "shutil", "sh": "shutil", "warnings": "warnings", "logging": "logging", "io": "io", "base64": "base64",
    "np": "numpy", "pd": "pandas", "Image": "PIL.Image",
}  # fmt: skip
_FROM = {"defaultdict": "collections", "OrderedDict": "collections", "partial": "functools", "tqdm": "tqdm"}


def __getattr__(name: str) -> Any:
    """Libraries that `from vlmeval.smp import *` brings along, loaded when they are asked for."""
    if name in _LIBRARIES:
        return importlib.import_module(_LIBRARIES[name])
    if name in _FROM:
        return getattr(importlib.import_module(_FROM[name]), name)
    raise AttributeError(f"the vlmeval dialect has no {name!r} in 'vlmeval.smp'")


def _installed(module: str) -> bool:
    return importlib.util.find_spec(module.partition(".")[0]) is not None


__all__ = [
    *documented.__all__,
    *file.__all__,
    *log.__all__,
    *misc.__all__,
    *vlm.__all__,
    *(name for name, module in {**_LIBRARIES, **_FROM}.items() if _installed(module)),
]
