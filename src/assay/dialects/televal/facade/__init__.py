"""The modules of a TELEVAL checkout that user files import as `src.…`, translated to assay's own types."""
