"""List the names of lmms-eval for `assay ls lmms_eval` and `assay show lmms_eval/NAME`, without importing it."""

from ..harness.task_listing import Listing
from .claims import LIBRARY

_listing = Listing(LIBRARY)
listing, lines, about = _listing.listing, _listing.lines, _listing.about
