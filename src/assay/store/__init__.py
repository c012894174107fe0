"""The store: the results of runs on disk, that is, what was run, answered and scored."""

from .blobs import Blobs
from .cell_index import Answered, CellIndex, Scored
from .index import Index, Scores
from .journal import Journal, OutputLine, Repair, ScoreLine, open_journal
from .json_files import read_json, write_json
from .layout import Layout, safe_name, write_whole
from .lock import FolderLock
from .runs import RunReader, RunWriter
from .stored_secrets import Redactor

__all__ = [
    "Answered",
    "Blobs",
    "CellIndex",
    "FolderLock",
    "Index",
    "Journal",
    "Layout",
    "OutputLine",
    "Redactor",
    "Repair",
    "RunReader",
    "RunWriter",
    "ScoreLine",
    "Scored",
    "Scores",
    "open_journal",
    "read_json",
    "safe_name",
    "write_json",
    "write_whole",
]
