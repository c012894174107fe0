"""`ulmeval.smp.file`: where data lies, `load` and `dump` by suffix, downloads, checksums."""

from ....kits.smp.files import *  # noqa: F403
from ....kits.smp.files import media_path as media_path
from ....kits.smp.localize import *  # noqa: F403
from ....kits.smp.machine import HFCacheRoot as HFCacheRoot
from ....kits.smp.reuse import fetch_aux_files as fetch_aux_files
from ....kits.smp.reuse import prepare_reuse_files as prepare_reuse_files
