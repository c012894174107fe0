"""SPICE by its own program: how far what a caption says of things, their looks and places is said by its references.

It needs Java, the program of the `pycocoevalcap` package, and the two jars of Stanford CoreNLP 3.6.0 it reads captions
with: no package carries those. All captions are judged at once, since the parser is slow to start.
"""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from ...core import Output, Requirement, Sample, ScorerError, UsageError, trust
from ...registry import scorers
from ..answers import accepted
from ..options import java_command, package_folder

_CARRIER = Requirement(
    "pycocoevalcap", "pycocoevalcap, which has SPICE's program,", "pycocoevalcap"
)
JAR = "spice-1.0.jar"
PARSER = ("stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar")
ARCHIVE = "stanford-corenlp-full-2015-12-09.zip"
SECONDS = 3600.0


@scorers.register("spice")
@dataclass(frozen=True)
class Spice:
    """The mean F-score over the images of a run, and of the kinds of statements it is made of."""

    folder: str = ""
    """The folder of spice-1.0.jar with its `lib`; by default the one in `pycocoevalcap`."""
    reads: ClassVar[tuple[str, ...]] = ("text",)
    set_level: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._command()  # what is missing is said before the run, not at its end

    def score_all(self, rows: Sequence[tuple[Sample, Output]]) -> dict[str, float]:
        """SPICE's own mean over all captions; one without a reference is left out."""
        captions = [
            {"image_id": sample.id, "test": output.text, "refs": list(accepted(sample))}
            for sample, output in rows
            if sample.targets
        ]
        if not captions:
            return {}
        command = self._command()
        with TemporaryDirectory() as folder:
            request, answered = (
                Path(folder) / "captions.json",
                Path(folder) / "scores.json",
            )
            request.write_text(json.dumps(captions), encoding="utf-8")
            done = subprocess.run(
                [*command, str(request), "-out", str(answered), "-subset", "-silent"],
                cwd=self._place(),
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
            if done.returncode != 0 or not answered.is_file():
                last = (
                    done.stderr.strip() or done.stdout.strip() or "it said nothing"
                ).splitlines()[-1]
                raise ScorerError(
                    f"SPICE ended with code {done.returncode}: {last}",
                    where="scorer 'spice'",
                )
            found = json.loads(answered.read_text(encoding="utf-8"))
        return _means([item["scores"] for item in found])

    def _place(self) -> Path:
        if self.folder:
            trust.check(Path(self.folder) / JAR)
            return Path(self.folder).expanduser()
        return package_folder(_CARRIER, "scorer 'spice'") / "spice"

    def _command(self) -> list[str]:
        java = java_command("spice")
        place = self._place()
        if not (place / JAR).is_file():
            raise UsageError(
                f"there is no {JAR}",
                where=str(place),
                fix="folder: the one that holds it",
            )
        lacking = [name for name in PARSER if not (place / "lib" / name).is_file()]
        if lacking:
            raise UsageError(
                f"scorer 'spice' has no parser: {' and '.join(lacking)} missing",
                where=str(place / "lib"),
                fix=f"put them there; both are in {ARCHIVE} of Stanford CoreNLP",
            )
        return [java, "-Xmx8G", "-jar", JAR]


def _means(scores: Sequence[dict[str, dict[str, float]]]) -> dict[str, float]:
    """The mean F-score of all statements under no name, and of each kind that is spoken of under its own."""
    kinds = dict.fromkeys(kind for score in scores for kind in score)
    means: dict[str, float] = {}
    for kind in kinds:
        values = [float(score[kind]["f"]) for score in scores if kind in score]
        numbers = [
            value for value in values if value == value
        ]  # NaN: no such statement in caption or references
        if numbers:
            means["" if kind == "All" else kind.lower()] = sum(numbers) / len(numbers)
    return means
