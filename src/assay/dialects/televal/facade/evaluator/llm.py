"""`src.evaluator.llm`: a language model as judge, over an API with keys of the YAML file or as a model of assay.

A judge given by `--judge` wins over the YAML file: its calls are then recorded like any other and not paid for twice.
"""

import itertools
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .....core import (
    DEFAULT_OPTIONS,
    EMPTY,
    Message,
    ModelError,
    Outcome,
    Output,
    Prompt,
    Sample,
    Score,
    Text,
    UsageError,
    nearest,
    shorten,
)
from ...references import as_reference
from ...secrets import PLACEHOLDERS, without_secrets
from ..prompt.llm_judge import TASK_PROMPT_MAP
from ..utils import parallel_batch, retry
from .base import BuiltInEvaluator, Evaluator

FULL_MARKS = 5.0
TRIES = 5
PAUSE_SECONDS = 3.0
TIMEOUT_SECONDS = 120.0
AZURE_VERSION = "2025-01-01-preview"


class NoScore(ValueError):
    """The judge's reply holds no score that counts."""


def read_score(reply: str, *, whole: bool = False) -> tuple[float, str]:
    """Score and explanation from a judge's JSON; decimals are kept, a number written as text is a number.

    `whole` cuts the decimals off.
    """
    start, end = reply.find("{"), reply.rfind("}")
    try:
        said = json.loads(reply[start : end + 1])
        score = float(said["Score"])
    except (ValueError, KeyError, TypeError) as error:
        raise NoScore(f"the judge gave no JSON with `Score`: {shorten(reply)}") from error
    if not 0.0 <= score <= FULL_MARKS:
        raise NoScore(f"the judge's score {score:g} lies outside 0 … 5")
    return float(int(score)) if whole else score, str(said.get("Explanation", ""))


@dataclass(frozen=True)
class JudgedByModel:
    """A judge's score of one answer, 0 to 5, by a model that is given under the role `judge`."""

    judge_task: str
    whole_scores: bool = False
    """As TELEVAL itself reads them: decimals are cut off."""
    models: Mapping[str, Any] = field(default_factory=lambda: EMPTY, compare=False, repr=False)
    needs: ClassVar[tuple[str, ...]] = ("judge",)
    bounds: ClassVar[tuple[float, float]] = (0.0, FULL_MARKS)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        told = {name: value for name, value in sample.fields.items() if isinstance(value, (str, int, float))}
        info = {name: value for name, value in told.items() if name not in ("pred", "ref")}
        text = TASK_PROMPT_MAP[self.judge_task](output.text, as_reference(sample.target), **info)
        try:
            options = DEFAULT_OPTIONS.set(temperature=0.0, response_format="json")
            reply: Output = await self.models["judge"].ask(Prompt((Message("user", (Text(text),)),)), options)
            if reply.error is not None:
                raise NoScore(f"{reply.error.kind}: {reply.error.message}")
            score, reason = read_score(reply.text, whole=self.whole_scores)
        except (NoScore, ModelError) as error:
            return Score(None, Outcome.JUDGE_ERROR, details={"error": str(error)})
        return Score(score, details={"reason": reason})


class LLMScorer(Evaluator):
    """A judge over an Azure-style or OpenAI-compatible endpoint; several keys take turns.

    `api_keys` maps an Azure resource to its key; `key` with `base_url` is any other endpoint.
    """

    def __init__(
        self,
        llm_name: str,
        judge_task: str,
        api_keys: Mapping[str, str] | None = None,
        max_workers: int | None = None,
        key: str | None = None,
        base_url: str | None = None,
    ) -> None:
        check_judge_task(judge_task)
        self.llm_name = llm_name
        self.judge_task = judge_task
        self.scorer = JudgedByModel(judge_task)
        """The same judgement by a model of assay."""
        given = dict(api_keys or {})
        if key is not None:
            given["key"] = key
        self.base_url = base_url
        self.whole_scores = False
        self._keys = {name: value for name, value in given.items() if value not in PLACEHOLDERS}
        self.max_workers = max_workers or max(1, len(self._keys))
        self._turns = itertools.cycle(self._keys.items())
        self._lock = threading.Lock()

    @parallel_batch(default_workers=4)
    def evaluate(self, pred: Any, ref: Any, pred_info: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """The judge's score of one prediction."""
        text = TASK_PROMPT_MAP[self.judge_task](pred, ref, **pred_info)
        score, reason = self._ask(text)
        return {"key": pred_info.get("key"), "pred": pred, "ref": ref, "score": score, "reason": reason}

    def _ask(self, text: str) -> tuple[float, str]:
        if not self._keys:
            raise UsageError(
                f"the judge {self.llm_name!r} has no key", fix="api_keys in the YAML file, or --judge MODEL"
            )
        return retry(TRIES, PAUSE_SECONDS)(lambda: read_score(self._post(text), whole=self.whole_scores))()  # type: ignore[no-any-return]

    def _post(self, text: str) -> str:
        with self._lock:
            name, key = next(self._turns)
        body = {"model": self.llm_name, "messages": [{"role": "user", "content": text}]}
        request = urllib.request.Request(
            self._url(name),
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "api-key": key, "Authorization": f"Bearer {key}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as reply:
                said = json.load(reply)
            return str(said["choices"][0]["message"]["content"])
        except (urllib.error.URLError, KeyError, IndexError, ValueError) as error:
            raise RuntimeError(without_secrets(f"the judge did not answer: {error}", (key,))) from None

    def _url(self, name: str) -> str:
        if self.base_url:
            return f"{self.base_url.rstrip('/')}/chat/completions"
        host = f"https://{name}.openai.azure.com/openai/deployments/{self.llm_name}"
        return f"{host}/chat/completions?api-version={AZURE_VERSION}"


class LLMOfflineScorer(BuiltInEvaluator):
    """A judge that runs here: give it as one of assay's models, `--judge hf/PATH` or `--judge gguf/FILE`."""

    def __init__(
        self,
        llm_name: str,
        judge_task: str,
        template: str | None = None,
        generate_params: Mapping[str, Any] | None = None,
        max_workers: int | None = None,
    ) -> None:
        check_judge_task(judge_task)
        self.scorer = JudgedByModel(judge_task)
        self.max_workers = max_workers


def check_judge_task(name: str) -> None:
    """Raises for a task no prompt is written for."""
    if name not in TASK_PROMPT_MAP:
        close = nearest(name, TASK_PROMPT_MAP)
        fix = f"did you mean {close!r}?" if close else f"known: {', '.join(TASK_PROMPT_MAP)}"
        raise UsageError(f"unknown judge task {name!r}", fix=fix)
