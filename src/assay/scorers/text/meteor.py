"""METEOR 1.5 by its own program, which needs Java: the metric of coco-caption, not nltk's of the same name.

The jar is that of the `pycocoevalcap` package, or one that is named. Captions are tokenized as coco-caption does it.
The value of one sample is its segment score; the number to report is made by the summarizer `meteor` from `details`,
and is not their mean.
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
from ..options import java_command, package_folder
from ._ptb import ptb_tokens

_CARRIER = Requirement(
    "pycocoevalcap", "pycocoevalcap, which has METEOR's jar,", "pycocoevalcap"
)
SIZE = 23
"""Numbers in a line of METEOR's counts."""
_CHUNKS, _SAID, _MEANT = 20, 21, 22


@scorers.register("meteor")
@dataclass(frozen=True)
class Meteor:
    """METEOR of one caption against all its references, 0 to 1."""

    jar: str = ""
    """The path of meteor-1.5.jar with its `data` folder beside it; by default the one in `pycocoevalcap`."""
    language: str = "en"
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    summarizers: ClassVar[tuple[str, ...]] = ("meteor",)

    def __post_init__(self) -> None:
        _command(
            self.jar, self.language
        )  # what is missing is said before the run, not at its first sample

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
    """One running METEOR, asked line by line; it ends with this process."""

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
        self, caption: str, references: Sequence[str]
    ) -> tuple[list[float], float]:
        """The counts to pool and the score of the segment."""
        with self._lock:
            counts = self._ask(" ||| ".join(["SCORE", *references, caption]))
            segment = self._ask(f"EVAL ||| {counts}")
            self._answer()  # the score over all segments, of which there is one
        numbers = [float(number) for number in counts.split()]
        if len(numbers) != SIZE:
            raise ScorerError(
                f"METEOR answered {len(numbers)} numbers instead of {SIZE}",
                where="scorer 'meteor'",
            )
        # In one unbroken piece nothing is out of order: the program's sums over a corpus count it as no piece.
        if numbers[_CHUNKS] == 1 and (numbers[_SAID], numbers[_MEANT]) == (
            numbers[0],
            numbers[1],
        ):
            numbers[_CHUNKS] = 0.0
        return numbers, float(segment)

    def _ask(self, line: str) -> str:
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
        return ScorerError(
            f"METEOR ended with code {self._process.poll()}",
            where="scorer 'meteor'",
            fix="try `java -jar` on the jar",
        )


def _line(text: str) -> str:
    return " ".join(ptb_tokens(text.replace("|||", " ")))


@cache
def _program(jar: str, language: str) -> Program:
    return Program(_command(jar, language))


def _command(jar: str, language: str) -> list[str]:
    java = java_command("meteor")
    path = (
        Path(jar)
        if jar
        else package_folder(_CARRIER, "scorer 'meteor'") / "meteor" / "meteor-1.5.jar"
    )
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
