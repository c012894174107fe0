"""`src.evaluator.llm`: a language model as judge, over an API with keys of the YAML file or as a model of assay.

A judge given by `--judge` wins over the YAML file: its calls are then recorded like any other and not paid for twice.
"""

import itertools
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
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
from ....protocol import is_upstream
from ...lines import LINE
from ...references import as_reference
from ...rows import SPOKEN, SWITCHES
from ...secrets import PLACEHOLDERS, without_secrets
from ..prompt import llm_judge
from ..prompt.llm_judge import TASK_PROMPT_MAP, prompt_of
from ..utils import parallel_batch, retry
from .base import BuiltInEvaluator, Evaluator, set_workers
from .process import LLMExtractor

FULL_MARKS = 5.0
TRIES = 5
PAUSE_SECONDS = 3.0
TIMEOUT_SECONDS = 120.0
AZURE_VERSION = "2025-01-01-preview"
OWN = frozenset({"pred", "ref", SPOKEN, SWITCHES, LINE})
"""Fields of a sample that are no columns of the data, and those that a prompt is given by itself."""


class NoScore(ValueError):
    """The judge's reply holds no score that counts."""


def read_score(reply: str, *, whole: bool = False) -> tuple[float, str]:
    """Score and explanation from a judge's JSON; decimals are kept, a number written as text is a number.

    `whole` cuts the decimals off.
    """
    start, end = reply.find("{"), reply.rfind("}")
    try:
        verdict = json.loads(reply[start : end + 1])
        score = float(verdict["Score"])
    except (ValueError, KeyError, TypeError) as error:
        raise NoScore(
            f"the judge gave no JSON with `Score`: {shorten(reply)}"
        ) from error
    if not 0.0 <= score <= FULL_MARKS:
        raise NoScore(f"the judge's score {score:g} lies outside 0 … 5")
    return float(int(score)) if whole else score, str(verdict.get("Explanation", ""))


@dataclass(frozen=True)
class JudgedByModel:
    """A judge's score of one answer, 0 to 5, by a model that is given under the role `judge`."""

    judge_task: str
    whole_scores: bool = False
    """As TELEVAL itself reads them: decimals are cut off."""
    prompt: Callable[..., str] | None = field(default=None, compare=False, repr=False)
    """What the judge is asked; by default our own words."""
    models: Mapping[str, Any] = field(
        default_factory=lambda: EMPTY, compare=False, repr=False
    )
    needs: ClassVar[tuple[str, ...]] = ("judge",)
    bounds: ClassVar[tuple[float, float]] = (0.0, FULL_MARKS)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        info = {
            name: value
            for name, value in sample.fields.items()
            if name.isidentifier() and name not in OWN
        }
        text = (self.prompt or TASK_PROMPT_MAP[self.judge_task])(
            output.text, as_reference(sample.target), **info
        )
        try:
            options = DEFAULT_OPTIONS.set(temperature=0.0, response_format="json")
            reply: Output = await self.models["judge"].ask(
                Prompt((Message("user", (Text(text),)),)), options
            )
            if reply.error is not None:
                raise NoScore(f"{reply.error.kind}: {reply.error.message}")
            score, reason = read_score(reply.text, whole=self.whole_scores)
        except (NoScore, ModelError) as error:
            return Score(None, Outcome.JUDGE_ERROR, details={"error": str(error)})
        return Score(score, details={"reason": reason})


class LLMScorer(Evaluator):
    """A judge over an Azure-style or OpenAI-compatible endpoint; several keys take turns.

    `api_keys` maps an Azure resource to its key; `key` with `base_url` is any other endpoint. A subclass may ask
    another way by `api_generate(prompt, key, url)`.
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
        if is_upstream("televal") and not api_keys and key is None:
            raise AssertionError("api_keys is empty")
        self.prompt_generator = checked_prompt(judge_task)
        self.llm_name = llm_name
        self.judge_task = judge_task
        self.whole_scores = is_upstream("televal")
        self.scorer = JudgedByModel(
            judge_task, self.whole_scores, self.prompt_generator
        )
        """The same judgement by a model of assay."""
        self.base_url = base_url
        self.api_keys: dict[str, str] = {
            **(api_keys or {}),
            **({"key": key} if key is not None else {}),
        }
        self.urls = {name: self._url(name) for name in self.api_keys}
        self.max_workers = max_workers or max(1, len(self.api_keys))
        real = {
            name: value
            for name, value in self.api_keys.items()
            if value not in PLACEHOLDERS
        }
        self.key_cycle = itertools.cycle((real or self.api_keys).items())
        self.lock = threading.Lock()

    def get_next_key(self) -> tuple[str, str, str]:
        """The resource whose turn it is, its key and its address."""
        with self.lock:
            turn = next(self.key_cycle, None)
        if turn is None:
            raise self._no_key()
        return *turn, self.urls[turn[0]]

    def _no_key(self) -> UsageError:
        return UsageError(
            f"the judge {self.llm_name!r} has no key",
            fix="api_keys in the YAML file, or --judge MODEL",
        )

    def api_generate(self, temp: str, api_key: str, url: str) -> str:
        """The judge's reply to a prompt."""
        if api_key in PLACEHOLDERS:
            raise self._no_key()
        body = {"model": self.llm_name, "messages": [{"role": "user", "content": temp}]}
        headers = {
            "Content-Type": "application/json",
            "api-key": api_key,
            "Authorization": f"Bearer {api_key}",
        }
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as reply:
                body_of_reply = json.load(reply)
            return str(body_of_reply["choices"][0]["message"]["content"]).strip()
        except (urllib.error.URLError, KeyError, IndexError, ValueError) as error:
            raise RuntimeError(
                without_secrets(f"the judge did not answer: {error}", (api_key,))
            ) from None

    def get_server_response(
        self, temp: str, api_key: str, url: str
    ) -> tuple[float, str]:
        """Score and explanation; a reply that cannot be read is asked for again."""

        def ask() -> tuple[float, str]:
            reply = self.api_generate(temp, api_key, url)
            if self.whole_scores:
                return LLMExtractor.extract(
                    reply, explain_col="Explanation", score_col="Score"
                )
            return read_score(reply)

        return retry(TRIES, PAUSE_SECONDS)(ask)()  # type: ignore[no-any-return]

    @parallel_batch(default_workers=4)
    def evaluate(
        self, pred: Any, ref: Any, pred_info: dict[str, Any], **kwargs: Any
    ) -> dict[str, Any]:
        """The judge's score of one prediction."""
        _, api_key, url = self.get_next_key()
        text = self.prompt_generator(pred, ref, **pred_info)
        score, reason = self.get_server_response(text, api_key, url)
        return {
            "key": pred_info.get("key"),
            "pred": pred,
            "ref": ref,
            "score": score,
            "reason": reason,
        }

    @staticmethod
    def result_of(
        line: Mapping[str, Any], score: Any, details: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What `evaluate` returns for a score that a model of assay gave."""
        columns = {name: line[name] for name in ("key", "pred", "ref")}
        return {**columns, "score": score, "reason": details.get("reason")}

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
        self.prompt_generator = checked_prompt(judge_task)
        self.scorer = JudgedByModel(
            judge_task, is_upstream("televal"), self.prompt_generator
        )
        set_workers(self, max_workers)

    result_of = staticmethod(LLMScorer.result_of)


def names_for(guest: Any) -> dict[str, Any]:
    """Notes where the user's checkout has prompts of its own."""
    return llm_judge.names_for(guest)


def checked_prompt(judge_task: str) -> Callable[..., str]:
    """What a judge is asked for a task; raises for one that no prompt is written for."""
    prompt = prompt_of(judge_task)
    if prompt is None:
        close = nearest(judge_task, TASK_PROMPT_MAP)
        fix = (
            f"did you mean {close!r}?"
            if close
            else f"known: {', '.join(TASK_PROMPT_MAP)}"
        )
        fault = UsageError(f"unknown judge task {judge_task!r}", fix=fix)
        raise ValueError(str(fault)) if is_upstream("televal") else fault
    return prompt
