"""Results of other tools, read into assay's own records. Nothing is written into their folders."""

from .recognising import format_of, is_format, is_result_name

__all__ = ["format_of", "is_format", "is_result_name"]
