"""`ulmeval.smp.file`: where data lies, `load` and `dump` by suffix, downloads, checksums."""

from ....kits.smp.files import (
    LMUDataRoot,
    NumpyEncoder,
    download_file,
    dump,
    file_size,
    last_modified,
    load,
    ls,
    md5,
    media_path,
    mrlines,
    mwlines,
    parquet_to_tsv,
    parse_file,
)
from ....kits.smp.localize import MMBenchOfficialServer, decode_img_omni, localize_df
from ....kits.smp.machine import HFCacheRoot
from ....kits.smp.reuse import fetch_aux_files, prepare_reuse_files

__all__ = [
    "HFCacheRoot",
    "LMUDataRoot",
    "MMBenchOfficialServer",
    "NumpyEncoder",
    "decode_img_omni",
    "download_file",
    "dump",
    "fetch_aux_files",
    "file_size",
    "last_modified",
    "load",
    "localize_df",
    "ls",
    "md5",
    "media_path",
    "mrlines",
    "mwlines",
    "parquet_to_tsv",
    "parse_file",
    "prepare_reuse_files",
]
