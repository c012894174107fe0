"""The tokenizer of caption scores: Penn Treebank words, lower case, without most punctuation.

It gives the tokens of Stanford's tokenizer, which coco-caption runs in Java before it counts anything. It keeps two
faults of that pipeline, because every published number has them: brackets stay, as `-lrb-` and `-rrb-`, since its
list of marks to remove is in capitals; and so do runs such as `!!`.
"""

import re

_DROPPED = frozenset(
    ["''", "'", "``", "`", '"', ".", "?", "!", ",", ":", "-", "--", "...", ";"]
)
_ALIKE = str.maketrans(
    {
        "’": "'",
        "‘": "`",
        "“": '"',
        "”": '"',
        "–": "--",
        "—": "--",
        "…": "...",
        "\u00a0": " ",
    }
)
_BRACKETS = {
    "(": "-lrb-",
    ")": "-rrb-",
    "[": "-lsb-",
    "]": "-rsb-",
    "{": "-lcb-",
    "}": "-rcb-",
}

_NOT = re.compile(r"(?<=\w)(n't)(?!\w)")
_CLITIC = re.compile(r"(?<=\w)('(?:s|m|d|ll|re|ve|n))(?!\w)")
_AND = re.compile(r"(?<=\w)('n')(?=\w)")
_YOU_ALL = re.compile(r"\by'(?=all\b)")
_TIS = re.compile(r"(?<!\w)'t(is|was)\b")
_JOINED = re.compile(
    r"\b(can)(not)\b"
    r"|\b(gon|wan)(na)\b"
    r"|\b(got)(ta)\b"
    r"|\b(gim|lem)(me)\b"
)

_TOKEN = re.compile(
    r"""
    https?://\S+ | \w[\w.+-]{0,63}@[\w-]+(?:\.[\w-]+)+     # addresses stay whole
  | <[a-z/][^<>\s]*>                                # and so do tags
  | [@\#][a-z]\w*
  | n't(?!\w) | '(?:s|m|d|ll|re|ve)(?!\w) | 'n'? (?!\w) | (?<!\w)'t(?=\ )
  | \.{3,}
  | (?:[a-z]\.)+[a-z]\. | [a-z]\.(?=\s|$)           # u.s.a., and an initial
  | (?:mrs?|ms|dr|st|jr|sr|prof|vs|etc|ave|blvd|mt|ft|co|inc|corp|ltd|dept|est|gen|gov|lt|sgt|capt|rev)\.(?!\w)
  | no\.(?=\ *\d)
  | \d+(?:[.,:/]\d+)*(?:(?<=:\d\d)(?=[ap]m)|(?:[a-z]+)?(?:[-_]\w+)*)
  | (?:o|d)'\w+
  | y'(?=\ all) | \w+(?:[-/&.]\w+)*
  | -{1,} | [?!]+ | \S
    """,
    re.VERBOSE,
)


def ptb_tokens(text: str) -> list[str]:
    """Return the words of a caption, as caption scores count them."""
    plain = text.translate(_ALIKE).lower()
    plain = _YOU_ALL.sub("y' ", _TIS.sub(r"'t \1", plain))
    plain = _JOINED.sub(lambda match: " ".join(filter(None, match.groups())), plain)
    plain = _AND.sub(r" \1 ", _NOT.sub(r" \1 ", plain))
    plain = _CLITIC.sub(r" \1", _CLITIC.sub(r" \1", plain))
    return [
        _BRACKETS.get(token, token)
        for token in _TOKEN.findall(plain)
        if token not in _DROPPED
    ]
