"""The store: the results of runs on disk, from prompts and answers to scores."""

from .blobs import Blobs
from .cell_index import Answered, CellIndex, Scored
from .index import Index, Scores
from .journal import Journal, OutputLine, Repair, ScoreLine, open_journal
from .layout import Layout, read_json, safe_name, write_json, write_whole
from .ownership import FolderLock
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
