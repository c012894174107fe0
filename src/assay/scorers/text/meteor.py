"""METEOR 1.5 by its own program, which needs Java: the metric of coco-caption. nltk's METEOR is a different one.

The jar is that of the `pycocoevalcap` package, or a given one. Captions are tokenized as in coco-caption. The value
of one sample is its segment score. The summarizer `meteor` computes the number to report from `details`; it is not
the mean of the segment scores.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import ClassVar

from ...core import Output, Requirement, Sample, Score, ScorerError, UsageError, trust
from ...registry import scorers
from ..answers import accepted, no_target, with_counts
from ..scorer_options import java_command, package_folder
from ._ptb import ptb_tokens

_CARRIER = Requirement(
    "pycocoevalcap",
    "pycocoevalcap, which has METEOR's jar,",
    "pycocoevalcap",
)
SIZE = 23
"""Number of counts in a line of METEOR."""
_CHUNKS, _SAID, _MEANT = 20, 21, 22


@scorers.register("meteor")
@dataclass(frozen=True)
class Meteor:
    """METEOR of one caption against all its references, 0 to 1."""

    jar: str = ""
    """The path of meteor-1.5.jar, with its `data` folder in the same place; by default the one in `pycocoevalcap`."""
    language: str = "en"
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    summarizers: ClassVar[tuple[str, ...]] = ("meteor",)

    def __post_init__(self) -> None:
        _command(
            self.jar, self.language
        )  # Report missing parts before the run, not at its first sample.

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
    """A running METEOR process, which scores line by line and ends with this process."""

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
        """Return the counts to pool and the score of the segment."""
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
        # METEOR counts a match in one unbroken piece as no chunk when it adds up a corpus.
        if numbers[_CHUNKS] == 1 and (numbers[_SAID], numbers[_MEANT]) == (
            numbers[0],
            numbers[1],
        ):
            numbers[_CHUNKS] = 0.0
        return numbers, float(segment)

    def _ask(self, line: str) -> str:
        """Write a line and return the answer."""
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
        """Return the error for a METEOR process that has ended."""
        return ScorerError(
            f"METEOR ended with code {self._process.poll()}",
            where="scorer 'meteor'",
            fix="try `java -jar` on the jar",
        )


def _line(text: str) -> str:
    """Return a text as one line of tokens, without METEOR's separator."""
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
