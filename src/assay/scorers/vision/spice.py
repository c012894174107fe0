"""SPICE by its own program: how far the statements of a caption agree with those of its references.

It needs Java, the program of the `pycocoevalcap` package, and the two jars of Stanford CoreNLP 3.6.0 that parse the
captions: no package includes those. All captions are scored at once, since the parser is slow to start.
"""

import json
import math
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from ...core import Output, Requirement, Sample, ScorerError, UsageError, trust
from ...registry import scorers
from ..answers import accepted
from ..scorer_options import java_command, package_folder

_CARRIER = Requirement(
    "pycocoevalcap",
    "pycocoevalcap, which has SPICE's program,",
    "pycocoevalcap",
)
JAR = "spice-1.0.jar"
PARSER = ("stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar")
ARCHIVE = "stanford-corenlp-full-2015-12-09.zip"
SECONDS = 3600.0


@scorers.register("spice")
@dataclass(frozen=True)
class Spice:
    """The mean F-score over the images of a run, and that of each kind of statement."""

    folder: str = ""
    """The folder of spice-1.0.jar with its `lib`; by default the one in `pycocoevalcap`."""
    reads: ClassVar[tuple[str, ...]] = ("text",)
    set_level: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._command()  # report missing parts before the run, not at its end

    def score_all(self, rows: Sequence[tuple[Sample, Output]]) -> dict[str, float]:
        """Return SPICE's own mean over all captions; one without a reference is left out."""
        captions = []
        for sample, output in rows:
            if sample.targets:
                captions.append(
                    {
                        "image_id": sample.id,
                        "test": output.text,
                        "refs": list(accepted(sample)),
                    }
                )
        if not captions:
            return {}
        command = self._command()
        with TemporaryDirectory() as folder:
            request = Path(folder) / "captions.json"
            scores = Path(folder) / "scores.json"
            document = json.dumps(captions)
            request.write_text(document, encoding="utf-8")
            process = subprocess.run(
                [*command, str(request), "-out", str(scores), "-subset", "-silent"],
                cwd=self._place(),
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
            has_failed = process.returncode != 0
            if has_failed or not scores.is_file():
                last = (
                    process.stderr.strip()
                    or process.stdout.strip()
                    or "it said nothing"
                ).splitlines()[-1]
                raise ScorerError(
                    f"SPICE ended with code {process.returncode}: {last}",
                    where="scorer 'spice'",
                )
            document = scores.read_text(encoding="utf-8")
            items = json.loads(document)
        scores_of_items = [item["scores"] for item in items]
        return _means(scores_of_items)

    def _place(self) -> Path:
        """Return the folder of the jar."""
        if self.folder:
            jar = Path(self.folder) / JAR
            trust.check(jar)
            return Path(self.folder).expanduser()
        return package_folder(_CARRIER, "scorer 'spice'") / "spice"

    def _command(self) -> list[str]:
        """Return the start of the command line. Raise `UsageError` if the jar or its parser is missing."""
        java = java_command("spice")
        folder = self._place()
        if not (folder / JAR).is_file():
            raise UsageError(
                f"there is no {JAR}",
                where=str(folder),
                fix="folder: the path of the folder with the jar",
            )
        library = folder / "lib"
        lacking = [name for name in PARSER if not (library / name).is_file()]
        if lacking:
            raise UsageError(
                f"scorer 'spice' has no parser: {' and '.join(lacking)} missing",
                where=str(folder / "lib"),
                fix=f"put them there; both are in {ARCHIVE} of Stanford CoreNLP",
            )
        return [java, "-Xmx8G", "-jar", JAR]


def _means(scores: Sequence[dict[str, dict[str, float]]]) -> dict[str, float]:
    """Return the mean F-score of each kind of statement. The one of all statements has an empty name."""
    values_by_kind: dict[str, list[float]] = {}
    for score in scores:
        for kind, parts in score.items():
            values = values_by_kind.setdefault(kind, [])
            value = float(parts["f"])
            # NaN: neither the caption nor the references have a statement of this kind.
            if not math.isnan(value):
                values.append(value)
    means: dict[str, float] = {}
    for kind, values in values_by_kind.items():
        if values:
            name = "" if kind == "All" else kind.lower()
            means[name] = sum(values) / len(values)
    return means
