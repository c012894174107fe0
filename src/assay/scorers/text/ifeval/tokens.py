"""Words as IFEval counts them: runs of word characters, and tokens in capitals."""

import re

_WORD = re.compile(r"\w+")
# Marks between two tokens. Hyphen, slash, period and asterisk are not: "UP-TO-DATE" and "**NOTE**" are one token.
_PARTING = re.compile(r"[\s;@#$%&?!()\[\]{}<>\"“”‘’«»…`|]+|--+|\.{2,}|[,:](?!\d)")
_CONTRACTION = re.compile(
    r"(?<=\w)(?='(?:s|m|d|ll|re|ve)$)|(?<=\w)(?=n't$)", re.IGNORECASE
)
_FUSED = re.compile(
    r"(?<=^can)(?=not$)"
    r"|(?<=^gon)(?=na$)"
    r"|(?<=^wan)(?=na$)"
    r"|(?<=^got)(?=ta$)",
    re.IGNORECASE,
)


def count_words(text: str) -> int:
    """Return the number of runs of letters, digits and underscores: `don't` is two words."""
    return sum(1 for _ in _WORD.finditer(text))


def count_capital_words(text: str) -> int:
    """Return the number of tokens in capitals. A contraction is two tokens: "DON'T" is DO and N'T."""
    tokens = (token for token in _PARTING.split(text) if token)
    return sum(part.isupper() for token in tokens for part in _split_contraction(token))


def _split_contraction(token: str) -> list[str]:
    if "'" in token:
        return _CONTRACTION.split(token)
    return _FUSED.split(token)
