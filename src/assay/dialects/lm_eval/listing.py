"""List the names of lm-eval for `assay ls lm_eval` and `assay show lm_eval/NAME`, without importing the package."""

from ..harness.task_listing import Listing
from .claims import LIBRARY

_listing = Listing(LIBRARY)
listing, lines, about = _listing.listing, _listing.lines, _listing.about
