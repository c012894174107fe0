"""METEOR 1.5 and nltk's METEOR, and the tokenizer of caption scores.

The tokenizer returns Penn Treebank words in lower case, without most punctuation. It
matches Stanford's tokenizer, the Java program that coco-caption runs first. Two faults
of that pipeline are kept, because every published value has them. Brackets stay, as
`-lrb-` and `-rrb-`, because the list of marks to remove is in capitals. Runs such as
`!!` also stay.

METEOR 1.5 runs a Java program. Its jar comes from the `pycocoevalcap` package, or from
a given path. Captions are tokenized as in coco-caption. The score of one sample is
METEOR's score for its caption. The reported value is not the mean of these scores: the
summarizer `meteor` computes it from `details`.

nltk's METEOR is a different metric, with synonyms from WordNet, which nltk does not
include. Its value for "a cat" against itself is 0.9375; with METEOR 1.5 it is 1. Texts
are split at spaces, as in nltk's own examples.
"""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import ClassVar

from ...core import Output, Requirement, Sample, Score, ScorerError, UsageError, trust
from ...registry import scorers
from ..answers import AgainstTargets, accepted, no_target, with_counts
from ..scorer_options import java_command, package_folder

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
    """Return the words of a caption as caption metrics tokenize it."""
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


_CARRIER = Requirement(
    "pycocoevalcap",
    "pycocoevalcap, which has METEOR's jar,",
    "pycocoevalcap",
)
SIZE = 23
"""The number of values in a line of METEOR's output."""
_CHUNKS, _SAID, _MEANT = 20, 21, 22


@scorers.register("meteor")
@dataclass(frozen=True)
class Meteor:
    """METEOR of one caption against all its references, 0 to 1."""

    jar: str = ""
    """The path of meteor-1.5.jar, which needs its `data` folder next to it.

    By default the jar in `pycocoevalcap` is used.
    """
    language: str = "en"
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    summarizers: ClassVar[tuple[str, ...]] = ("meteor",)

    def __post_init__(self) -> None:
        # Report missing parts before the run, not at its first sample.
        _command(self.jar, self.language)

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        program = _program(self.jar, self.language)
        counts, value = program.judge(
            _line(output.text), [_line(target) for target in targets]
        )
        details = {"stats": counts, "references": len(targets)}
        return with_counts(value, output, details)


class Program:
    """A running METEOR process, which scores one line at a time. It ends when the Python process ends."""

    def __init__(self, command: Sequence[str]) -> None:
        self._lock = Lock()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def judge(
        self,
        caption: str,
        references: Sequence[str],
    ) -> tuple[list[float], float]:
        """Return METEOR's counts for a caption, which are added up over the corpus, and
        the score of this caption alone.
        """
        with self._lock:
            counts = self._ask(" ||| ".join(["SCORE", *references, caption]))
            segment = self._ask(f"EVAL ||| {counts}")
            self._answer()  # skip the score over all segments, of which there is one
        numbers = [float(number) for number in counts.split()]
        if len(numbers) != SIZE:
            raise ScorerError(
                f"METEOR answered {len(numbers)} numbers instead of {SIZE}",
                where="scorer 'meteor'",
            )
        # For a corpus, METEOR does not count a match without a gap as a chunk.
        if numbers[_CHUNKS] == 1 and (numbers[_SAID], numbers[_MEANT]) == (
            numbers[0],
            numbers[1],
        ):
            numbers[_CHUNKS] = 0.0
        return numbers, float(segment)

    def _ask(self, line: str) -> str:
        """Write a line to the process, and return its reply."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._ended() from error
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._ended()
        return line.strip()

    def _ended(self) -> ScorerError:
        """Return the error for a METEOR process that ended unexpectedly."""
        return ScorerError(
            f"METEOR ended with code {self._process.poll()}",
            where="scorer 'meteor'",
            fix="try `java -jar` on the jar",
        )


def _line(text: str) -> str:
    """Return the tokens of a text, joined by spaces. `|||` is removed first, because
    METEOR separates its input fields with it.
    """
    return " ".join(ptb_tokens(text.replace("|||", " ")))


@cache
def _program(jar: str, language: str) -> Program:
    return Program(_command(jar, language))


def _command(jar: str, language: str) -> list[str]:
    """Return the command that starts METEOR. Raise if Java or the jar is missing."""
    java = java_command("meteor")
    if jar:
        path = Path(jar)
    else:
        path = package_folder(_CARRIER, "scorer 'meteor'") / "meteor" / "meteor-1.5.jar"
    if jar:
        trust.check(path)
    if not path.is_file():
        raise UsageError(
            "there is no METEOR jar",
            where=str(path),
            fix="jar: the path of meteor-1.5.jar",
        )
    return [
        java,
        "-Xmx2G",
        "-Dfile.encoding=UTF-8",
        "-jar",
        str(path),
        "-",
        "-",
        "-stdio",
        "-l",
        language,
        "-norm",
    ]


@scorers.register("meteor_nltk")
@dataclass(frozen=True)
class MeteorNltk(AgainstTargets):
    """nltk's METEOR of one text against its best reference, 0 to 1."""

    reads: ClassVar[tuple[str, ...]] = ("text",)

    def __post_init__(self) -> None:
        nltk = Requirement("nltk", "nltk", "nltk").library(
            "nltk", "scorer 'meteor_nltk'"
        )
        try:
            nltk.data.find("corpora/wordnet.zip")
        except LookupError as error:
            raise UsageError(
                "nltk's METEOR needs the WordNet data of nltk, which are not on this machine",
                where="scorer 'meteor_nltk'",
                fix="python -m nltk.downloader wordnet, or the scorer 'meteor' (METEOR 1.5, needs Java)",
            ) from error

    def compare(
        self,
        output: Output,
        targets: tuple[str, ...],
    ) -> Score:
        """Return the score of an answer: nltk's METEOR against its best reference."""
        from nltk.translate.meteor_score import meteor_score

        return Score(
            float(
                meteor_score(
                    [target.split() for target in targets], output.text.split()
                )
            )
        )
