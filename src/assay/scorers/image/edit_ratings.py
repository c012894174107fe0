"""Ratings of image edits by a judge: VIEScore, and the official prompts of GEdit-Bench and ImgEdit.

VIEScore has two ratings: how well the edit follows the instruction, and how good the image is. Each is the lowest of
several ratings in one reply of the judge. For the edit, the judge gets both images and the instruction; for quality,
only the edited image. The overall value is the geometric mean of the two, as in GEdit-Bench.

The official prompts do not ship with assay. They are read as text from a file of the checkout, and none of its code
runs. `$ASSAY_GEDIT` names a checkout of stepfun-ai/Step1X-Edit, `$ASSAY_IMGEDIT` one of PKU-YuanGroup/ImgEdit.
"""

import ast
import asyncio
import json
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from ...core import (
    DEFAULT_OPTIONS,
    EMPTY,
    UNRESOLVED,
    Image,
    Message,
    ModelError,
    Output,
    Prompt,
    Sample,
    Score,
    Text,
    UsageError,
    digest_of,
)
from ...registry import scorers
from ..answers import data_error, no_answer, no_verdict
from ..given_models import GivenModels, ask_model
from ..judge.exchange import question_media
from ..judge.judge_ratings import JudgeRatings
from ..judge.judge_wording import NoVerdict, read_object

SEMANTICS = {
    "success": "how far was the edit carried out as asked?",
    "restraint": "how far was everything else left alone?",
}
QUALITY = {
    "naturalness": "how natural does the scene look: distances, shadows, light?",
    "soundness": "how free is the image of artifacts: distortions, blurred faces, odd bodies, seams?",
}
ALONE = "Judge the image by itself."
"""Replaces the edit instruction in the judge's prompt when only the quality of the image is rated."""


@scorers.register("viescore")
@dataclass(frozen=True)
class VieScore(GivenModels):
    """Two ratings from 0 to 10, `semantics` and `quality`, each the lowest of its
    parts; `overall` is their geometric mean.
    """

    semantics: Mapping[str, str] = field(default_factory=lambda: SEMANTICS)
    """The parts of the rating of the edit, with their descriptions for the judge."""
    quality: Mapping[str, str] = field(default_factory=lambda: QUALITY)
    """The parts of the rating of the image's quality, with their descriptions for the judge."""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    reads: ClassVar[tuple[str, ...]] = ("image",)
    name: ClassVar[str] = "viescore"
    needs: ClassVar[tuple[str, ...]] = ("judge",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 10.0)
    best_mark: ClassVar[float] = 10.0
    expects: ClassVar[str] = "image"

    async def __call__(self, sample: Sample, output: Output) -> Score:
        edit, image = await asyncio.gather(
            self._rate(self.semantics, sample, output, shows_question=True),
            self._rate(
                self.quality,
                replace(
                    sample,
                    input=ALONE,
                    media=(),
                    turns=(),
                ),
                output,
                shows_question=False,
            ),
        )
        failed = next(
            (score for score in (edit, image) if score.outcome in UNRESOLVED), None
        )
        if failed is not None:
            return failed
        values = {
            name: _overall(score)
            for name, score in (("semantics", edit), ("quality", image))
        }
        values["overall"] = math.sqrt(values["semantics"] * values["quality"])
        details = {"semantics": _details_of(edit), "quality": _details_of(image)}
        return Score(values, edit.outcome, details=details)

    async def _rate(
        self,
        aspects: Mapping[str, str],
        sample: Sample,
        output: Output,
        *,
        shows_question: bool,
    ) -> Score:
        ratings = JudgeRatings(
            aspects,
            combine="minimum",
            expects="image",
            shows_question=shows_question,
            options=self.options,
            models=self.models,
        )
        return await ratings(sample, output)


def _overall(score: Score) -> float:
    assert isinstance(score.value, Mapping)
    return score.value["overall"]


def _details_of(score: Score) -> dict[str, Any]:
    """Return the details of a score: the ratings from which it was computed, and the judge's reply."""
    return {"ratings": score.value, **score.details}


_MAX_PROMPTS_BYTES = 4_000_000
# "Prompt Compliance: 4"
_RATING_LINE = re.compile(r"[^:\n]+: (\d+)\s*")


@dataclass(frozen=True, slots=True)
class PromptsFile:
    """Finds the file with a benchmark's official prompts, in a checkout or in an installed package."""

    benchmark: str
    repository: str
    variable: str
    """The environment variable with the path of a checkout."""
    paths: tuple[str, ...]
    """Possible paths of the file in the checkout."""
    module: str = ""
    """The installed package that may contain the file."""

    def find(self, checkout: str) -> Path | None:
        """Return the prompts file: in the given checkout, in that of the environment
        variable, or in the installed package.

        Raise `UsageError` if a checkout was named that does not contain it.
        """
        named = checkout or os.environ.get(self.variable, "")
        if not named:
            folders = map(Path, _package_folders(self.module))
            packaged = [folder / Path(self.paths[0]).name for folder in folders]
            return next((path for path in packaged if path.is_file()), None)
        folder = Path(named).expanduser()
        for path in (folder, *(folder / name for name in self.paths)):
            if path.is_file():
                return path
        raise UsageError(
            f"no prompts of {self.benchmark} in {named}: no {self.paths[0]}",
            where=f"${self.variable}" if not checkout else "option `checkout`",
            fix=f"name a checkout of {self.repository}",
        )

    def check(self, where: str | None = None) -> None:
        """Raise an error with the commands that provide the missing prompts."""
        raise UsageError(
            f"the official prompts of {self.benchmark} were not found",
            where=where,
            fix=f"git clone https://github.com/{self.repository}, and {self.variable}=FOLDER",
        )


GEDIT = PromptsFile(
    "GEdit-Bench",
    "stepfun-ai/Step1X-Edit",
    "ASSAY_GEDIT",
    (
        "GEdit-Bench/viescore/vie_prompts.py",
        "viescore/vie_prompts.py",
        "vie_prompts.py",
    ),
    module="viescore",
)
IMGEDIT = PromptsFile(
    "ImgEdit",
    "PKU-YuanGroup/ImgEdit",
    "ASSAY_IMGEDIT",
    ("Benchmark/Basic/prompts.json", "Basic/prompts.json", "prompts.json"),
)


@dataclass(frozen=True)
class EditPublished(GivenModels, ABC):
    """Base of the scorers that use the official prompts for a judge of edits."""

    checkout: str = ""
    """The checkout with the prompts. By default it is that of the environment variable, or the installed package."""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Generation options of the judge, which override those of the official script."""
    prompts: Mapping[str, str] = field(init=False, repr=False)
    """The official prompts by name. They are part of the scorer's identity."""
    file: ClassVar[PromptsFile]
    judge_options: ClassVar[Any] = DEFAULT_OPTIONS
    reads: ClassVar[tuple[str, ...]] = ("image",)
    needs: ClassVar[tuple[str, ...]] = ("judge",)
    expects: ClassVar[str] = "image"

    def __post_init__(self) -> None:
        path = self.file.find(self.checkout)
        prompts: Mapping[str, str] = EMPTY
        if path is not None:
            prompts = self.read_prompts(path)
        object.__setattr__(self, "prompts", prompts)
        self.judge_options.set(**self.options)

    @property
    def requires(self) -> tuple[PromptsFile, ...]:
        """The missing prompts file, so that the run reports it; empty if the prompts were read."""
        if self.prompts:
            return ()
        return (self.file,)

    @abstractmethod
    def read_prompts(self, path: Path) -> Mapping[str, str]:
        """Return the prompts in the file by name."""

    async def ask(
        self,
        prompt: str,
        images: Sequence[Image],
    ) -> str:
        """Return the judge's reply to a prompt followed by images, in one turn of the user."""
        message = Message("user", (Text(prompt), *images))
        options = self.judge_options.set(**self.options)
        reply = await ask_model(self.models, "judge", Prompt((message,)), options)
        return reply.text


@scorers.register("viescore_upstream")
@dataclass(frozen=True)
class VieScorePublished(EditPublished):
    """GEdit-Bench with VIEScore's prompts: `semantics`, `quality`, and `overall`, their geometric mean."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 10.0)
    best_mark: ClassVar[float] = 10.0
    file: ClassVar[PromptsFile] = GEDIT
    judge_options: ClassVar[Any] = DEFAULT_OPTIONS.set(max_tokens=1400)

    def read_prompts(self, path: Path) -> Mapping[str, str]:
        """Return VIEScore's prompts for the edit and for the quality, joined from the pieces in the file."""
        texts = _constants(path)
        context = "_context_no_delimit"
        pieces = {
            "semantics": (
                context,
                "_prompts_0shot_two_image_edit_rule",
                "_prompts_0shot_tie_rule_SC",
            ),
            "quality": (context, "_prompts_0shot_rule_PQ"),
        }
        missing = [
            name for names in pieces.values() for name in names if name not in texts
        ]
        if missing:
            raise UsageError(
                f"the prompts of GEdit-Bench lack {missing[0]}",
                where=str(path),
                fix=f"a checkout of {GEDIT.repository}",
            )
        return {
            part: "\n".join(texts[name] for name in names)
            for part, names in pieces.items()
        }

    async def __call__(self, sample: Sample, output: Output) -> Score:
        answers = [medium for medium in output.media if isinstance(medium, Image)]
        failed = _not_judged(output, answers, ("semantics", "quality", "overall"), 0.0)
        if failed is not None:
            return failed
        inputs = [m for m in question_media(sample) if isinstance(m, Image)]
        instruction = str(sample.input)
        semantics = self.prompts["semantics"].replace("<instruction>", instruction)
        details: dict[str, Any] = {"prompt": digest_of(dict(self.prompts))[:16]}
        quality = self.prompts["quality"]
        answer = answers[-1]
        try:
            replies = await asyncio.gather(
                self.ask(semantics, [*inputs, answer]),
                self.ask(quality, [answer]),
            )
            details["replies"] = replies
            ratings = [_ratings(reply) for reply in replies]
        except (ModelError, NoVerdict) as error:
            return no_verdict(str(error), **details)
        details["ratings"] = ratings
        lowest_semantics = min(ratings[0])
        lowest_quality = min(ratings[1])
        values = {
            "semantics": lowest_semantics,
            "quality": lowest_quality,
            "overall": math.sqrt(lowest_semantics * lowest_quality),
        }
        return Score(values, details=details)


@scorers.register("imgedit_upstream")
@dataclass(frozen=True)
class ImgEditPublished(EditPublished):
    """ImgEdit with its prompt for each edit type: `overall`, the mean of the ratings in the judge's reply."""

    bounds: ClassVar[tuple[float, float]] = (1.0, 5.0)
    best_mark: ClassVar[float] = 5.0
    file: ClassVar[PromptsFile] = IMGEDIT

    def read_prompts(self, path: Path) -> Mapping[str, str]:
        """Return the prompts by edit type."""
        unreadable = UsageError(
            "the prompts of ImgEdit are not a JSON object of texts",
            where=str(path),
            fix=f"a checkout of {IMGEDIT.repository}",
        )
        try:
            prompts = json.loads(_text_of(path))
        except ValueError as error:
            raise unreadable from error
        if not isinstance(prompts, dict) or not prompts:
            raise unreadable
        texts = {name: text for name, text in prompts.items() if isinstance(text, str)}
        if len(texts) < len(prompts):
            raise unreadable
        return texts

    async def __call__(self, sample: Sample, output: Output) -> Score:
        answers = [medium for medium in output.media if isinstance(medium, Image)]
        failed = _not_judged(output, answers, ("overall",), self.bounds[0])
        if failed is not None:
            return failed
        edit_type = str(sample.tags.get("category", ""))
        if edit_type not in self.prompts:
            edit_types = ", ".join(self.prompts)
            return data_error(
                f"ImgEdit has no prompt for the edit type {edit_type!r}, only for {edit_types}"
            )
        inputs = [m for m in question_media(sample) if isinstance(m, Image)]
        prompt = self.prompts[edit_type].replace("<edit_prompt>", str(sample.input))
        details: dict[str, Any] = {"prompt": digest_of(dict(self.prompts))[:16]}
        try:
            reply = await self.ask(prompt, [*inputs, answers[-1]])
        except ModelError as error:
            return no_verdict(str(error), **details)
        details["reply"] = reply
        ratings = []
        for line in reply.splitlines():
            match = _RATING_LINE.fullmatch(line.strip())
            if match is not None:
                ratings.append(int(match[1]))
        if not ratings:
            return no_verdict("the reply has no line `NAME: NUMBER`", **details)
        if not all(1 <= rating <= 5 for rating in ratings):
            return no_verdict("a rating is not from 1 to 5", **details)
        details["ratings"] = ratings
        mean = round(sum(ratings) / len(ratings), 2)
        return Score({"overall": mean}, details=details)


def _not_judged(
    output: Output,
    images: Sequence[Image],
    names: Sequence[str],
    worst: float,
) -> Score | None:
    """Return the score of an output without an image, without calling the judge; None if there is an image."""
    silence = no_answer(output)
    if silence is None and not images:
        silence = Score.unparsed(reason="no image in the output")
    if silence is None:
        return None
    values = dict.fromkeys(names, worst)
    return Score(values, silence.outcome, details=silence.details)


def _ratings(reply: str) -> list[float]:
    """Return the list of ratings under `score` in VIEScore's reply. Raise `NoVerdict` unless all are from 0 to 10."""
    ratings = read_object(reply).get("score")
    if not isinstance(ratings, list) or not ratings:
        raise NoVerdict("the reply is not an object with a list `score`")
    for rating in ratings:
        is_number = isinstance(rating, (int, float)) and not isinstance(rating, bool)
        if not is_number or not 0 <= rating <= 10:
            raise NoVerdict(f"a rating is not from 0 to 10: {str(rating)[:40]!r}")
    return [float(rating) for rating in ratings]


def _constants(path: Path) -> dict[str, str]:
    """Return the string constants of a Python file by name, without running the file."""
    try:
        tree = ast.parse(_text_of(path))
    except SyntaxError as error:
        raise UsageError(
            f"the prompts cannot be read: {error.msg}", where=f"{path}:{error.lineno}"
        ) from error
    texts = {}
    for statement in tree.body:
        if not isinstance(statement, ast.Assign):
            continue
        value = statement.value
        if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
            continue
        for target in statement.targets:
            if isinstance(target, ast.Name):
                texts[target.id] = value.value
    return texts


def _text_of(path: Path) -> str:
    """Read a text file. Raise if it is too large to be a file of prompts."""
    try:
        if path.stat().st_size > _MAX_PROMPTS_BYTES:
            raise UsageError("the file of prompts is too large", where=str(path))
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"the prompts cannot be read: {error}", where=str(path)
        ) from error


def _package_folders(module: str) -> Sequence[str]:
    """Return the folders of an installed package, without importing it."""
    if not module:
        return ()
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return ()
    if spec is None:
        return ()
    return tuple(spec.submodule_search_locations or ())
