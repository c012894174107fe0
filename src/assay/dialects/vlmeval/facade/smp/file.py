"""`vlmeval.smp.file`: reading and writing by suffix, `$LMUData`, downloads, checksums, names of files."""

from ....kits.smp.files import *  # noqa: F403
from ....kits.smp.localize import *  # noqa: F403
from ....kits.smp.machine import HFCacheRoot as HFCacheRoot
from ....kits.smp.result_files import *  # noqa: F403
from ....kits.smp.reuse import *  # noqa: F403
from ....kits.smp.reuse import prediction_table as _prediction_table  # noqa: F401 - upstream's own classes take it
