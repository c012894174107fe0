"""`ulmeval.smp`: the helpers, and the libraries that `from ulmeval.smp import *` has always brought along."""

import importlib
import importlib.util
from typing import Any

from .file import (
    LMUDataRoot,
    NumpyEncoder,
    download_file,
    dump,
    file_size,
    last_modified,
    load,
    ls,
    md5,
    mrlines,
    mwlines,
    parse_file,
)
from .log import get_logger
from .misc import (
    cn_string,
    d2df,
    dict_merge,
    extract_json_objects,
    get_rank_and_world_size,
    githash,
    istype,
    listinstr,
    load_env,
    splitlen,
    timestr,
    toliststr,
)
from .ulm import (
    concat_images_ulmeval,
    decode_base64_to_image,
    decode_base64_to_image_file,
    encode_image_file_to_base64,
    encode_image_to_base64,
    isimg,
    mmqa_display,
    read_ok,
    rescale_img,
    resize_image_by_factor,
)

__all__ = [
    "LMUDataRoot", "NumpyEncoder", "cn_string", "concat_images_ulmeval", "d2df", "decode_base64_to_image",
    "decode_base64_to_image_file", "dict_merge", "download_file", "dump", "encode_image_file_to_base64",
    "encode_image_to_base64", "extract_json_objects", "file_size", "get_logger", "get_rank_and_world_size", "githash",
    "isimg", "istype", "last_modified", "listinstr", "load", "load_env", "ls", "md5", "mmqa_display", "mrlines",
    "mwlines", "parse_file", "read_ok", "rescale_img", "resize_image_by_factor", "splitlen", "timestr", "toliststr",
]  # fmt: skip
_LIBRARIES = {
    "abc": "abc", "argparse": "argparse", "base64": "base64", "cp": "copy", "csv": "csv", "datetime": "datetime",
    "hashlib": "hashlib", "io": "io", "json": "json", "logging": "logging", "mimetypes": "mimetypes",
    "mp": "multiprocessing", "os": "os", "osp": "os.path", "pickle": "pickle", "rd": "random", "shutil": "shutil",
    "string": "string", "subprocess": "subprocess", "sys": "sys", "time": "time", "warnings": "warnings",
    "np": "numpy", "pd": "pandas", "requests": "requests", "Image": "PIL.Image", "plt": "matplotlib.pyplot",
    "JSONDecoder": "json:JSONDecoder", "OrderedDict": "collections:OrderedDict", "Path": "pathlib:Path",
    "Pool": "multiprocessing:Pool", "current_process": "multiprocessing:current_process",
    "defaultdict": "collections:defaultdict", "tabulate": "tabulate:tabulate", "tqdm": "tqdm:tqdm",
    "uuid4": "uuid:uuid4",
}  # fmt: skip
"""Short names of libraries, and where they come from; one that is not installed is not offered."""


def _is_installed(place: str) -> bool:
    return importlib.util.find_spec(place.partition(":")[0].partition(".")[0]) is not None


__all__ += [name for name, place in _LIBRARIES.items() if _is_installed(place)]


def __getattr__(name: str) -> Any:
    if name not in _LIBRARIES:
        raise AttributeError(f"the ulmeval dialect has no {name!r} in 'ulmeval.smp'")
    module, _, attribute = _LIBRARIES[name].partition(":")
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise AttributeError(f"{module} is not installed: pip install 'assay[guests]'") from error
    return getattr(found, attribute) if attribute else found
