"""The modules of a TELEVAL checkout that user files import, as `src.…`; each translates to assay's own nouns."""
