"""Captions: the counts for BLEU, ROUGE-L and CIDEr, and SPICE, which runs its own Java program.

The value of one sample is its ROUGE-L. The summarizer `caption` computes the other
metrics, because CIDEr weights words by the number of images whose captions contain
them. Captions are tokenized as in coco-caption.

SPICE extracts statements from a caption, and compares them with the statements of its
references. It needs Java, the program in the `pycocoevalcap` package, and the two jars
of Stanford CoreNLP 3.6.0 that parse the captions, which must be downloaded separately.
All captions are scored in one call, because the parser is slow to start.
"""

import json
import math
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from ...core import Output, Requirement, Sample, Score, ScorerError, UsageError, trust
from ...registry import scorers
from ..answers import accepted, no_answer, no_target
from ..scorer_options import check_option, java_command, package_folder
from ..text.meteor import ptb_tokens

ORDERS = 4
BETA = 1.2


@scorers.register("caption")
@dataclass(frozen=True)
class Caption:
    """ROUGE-L of one caption. `details` has its BLEU counts and the tokens for CIDEr."""

    tokenize: str = "ptb"
    """`ptb` as in coco-caption; `none` splits captions at spaces."""
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    keeps_unicode_form: ClassVar[bool] = True
    summarizers: ClassVar[tuple[str, ...]] = ("caption",)

    def __post_init__(self) -> None:
        check_option("caption", "tokenize", self.tokenize, ("ptb", "none"))

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        tokens = self._tokens(output.text)
        references = [self._tokens(target) for target in targets]
        details: dict[str, Any] = {
            "bleu": bleu_counts(tokens, references),
            "tokens": " ".join(tokens),
            "references": [" ".join(reference) for reference in references],
            "tokenizer": self.tokenize,
        }
        value = {"rouge_l": rouge_l(tokens, references)}
        # The counts are kept even without an answer: a missing caption lowers the score of the run.
        silence = no_answer(output)
        if silence:
            return Score(value, silence.outcome, details=details)
        return Score(
            value,
            answer=details["tokens"],
            details=details,
        )

    def _tokens(self, text: str) -> list[str]:
        if self.tokenize == "ptb":
            return ptb_tokens(text)
        return text.split()


def bleu_counts(
    tokens: Sequence[str],
    references: Sequence[Sequence[str]],
) -> list[int]:
    """Return the counts for BLEU as one list.

    It has the length of the caption, the length of the closest reference, the number of
    n-grams of each of four orders, and the number of matching n-grams of each order.
    """
    length = len(tokens)
    # Of two references that are equally close, the shorter one is used.
    distances = []
    for reference in references:
        distances.append((abs(len(reference) - length), len(reference)))
    closest = min(distances)[1]
    totals = []
    matched = []
    for n in range(1, ORDERS + 1):
        totals.append(max(0, length - n + 1))
        most: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            most |= ngrams(reference, n)
        common = ngrams(tokens, n) & most
        matched.append(common.total())
    return [length, closest, *totals, *matched]


def ngrams(
    tokens: Sequence[str],
    n: int,
) -> Counter[tuple[str, ...]]:
    """Return each run of `n` tokens with the number of times it occurs."""
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))


def rouge_l(
    tokens: Sequence[str],
    references: Sequence[Sequence[str]],
) -> float:
    """Return the ROUGE-L of a caption: the F-measure (beta 1.2) of its best precision and its best recall.

    The two may come from different references.
    """
    from rapidfuzz.distance import LCSseq

    if not tokens:
        return float(any(not reference for reference in references))
    common = [int(LCSseq.similarity(tokens, reference)) for reference in references]
    precision = max(common) / len(tokens)
    recall = max(
        shared / max(len(reference), 1)
        for shared, reference in zip(common, references, strict=True)
    )
    if not precision or not recall:
        return 0.0
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)


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
    """SPICE: the mean F-score over the images of a run, of all statements and of each kind of statement."""

    folder: str = ""
    """The folder with spice-1.0.jar and its `lib` folder; by default the one in `pycocoevalcap`."""
    reads: ClassVar[tuple[str, ...]] = ("text",)

    def __post_init__(self) -> None:
        self._command()  # report missing parts before the run, not at its end

    def score_all(self, rows: Sequence[tuple[Sample, Output]]) -> dict[str, float]:
        """Return SPICE's mean over all captions. A caption without a reference is left out."""
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
            try:
                process = subprocess.run(
                    [*command, str(request), "-out", str(scores), "-subset", "-silent"],
                    cwd=self._place(),
                    capture_output=True,
                    encoding="utf-8",
                    errors="replace",
                    timeout=SECONDS,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise ScorerError(
                    f"SPICE did not end within {SECONDS:g} s for {len(captions)} captions",
                    where="scorer 'spice'",
                    fix="score fewer samples: --limit N",
                ) from error
            has_failed = process.returncode != 0
            if has_failed or not scores.is_file():
                last = (
                    process.stderr.strip()
                    or process.stdout.strip()
                    or "it printed nothing"
                ).splitlines()[-1]
                if has_failed:
                    reason = f"SPICE ended with code {process.returncode}: {last}"
                else:
                    reason = f"SPICE wrote no scores: {last}"
                raise ScorerError(reason, where="scorer 'spice'")
            document = scores.read_text(encoding="utf-8")
            items = json.loads(document)
        scores_of_items = [item["scores"] for item in items]
        return _means(scores_of_items)

    def _place(self) -> Path:
        """Return the folder that contains SPICE's jar: the option `folder`, or the one in `pycocoevalcap`."""
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
    """Return the mean F-score for each kind of statement (object, colour, …), and under
    an empty key for all statements.
    """
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
            if kind == "All":
                name = ""
            else:
                name = kind.lower()
            means[name] = sum(values) / len(values)
    return means
