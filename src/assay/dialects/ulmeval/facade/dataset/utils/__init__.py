"""`ulmeval.dataset.utils`: judges by name."""

from .judge_util import DEBUG_MESSAGE, build_judge
from .specialists import MMDetModel, MPLUGModel, OpenCLIPModel

__all__ = ["DEBUG_MESSAGE", "MMDetModel", "MPLUGModel", "OpenCLIPModel", "build_judge"]
