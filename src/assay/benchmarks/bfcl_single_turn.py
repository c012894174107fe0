"""BFCL v4 with a single turn: a question, functions, and the accepted calls.

In mode `fc` the functions are sent as tools. In mode `prompt` BFCL's own system prompt describes them, and its own
decoder reads the text. Both are judged by the checker of the installed `bfcl-eval` package.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import Outcome, Output, Sample, Score
from ..core.message import as_messages
from ..core.tools import read_tools
from .bfcl_package import (
    FC,
    PROMPT,
    Undecoded,
    check_parser,
    decoded_calls,
    load_bfcl,
    version,
)

CATEGORIES: Mapping[str, str] = {
    "simple": "simple_python",
    "java": "simple_java",
    "javascript": "simple_javascript",
    "multiple": "multiple",
    "parallel": "parallel",
    "parallel_multiple": "parallel_multiple",
    "irrelevance": "irrelevance",
    "live_simple": "live_simple",
    "live_multiple": "live_multiple",
    "live_parallel": "live_parallel",
    "live_parallel_multiple": "live_parallel_multiple",
    "live_irrelevance": "live_irrelevance",
    "live_relevance": "live_relevance",
}
"""Maps the name of a task, without `bfcl_`, to its category in the package."""


def wants_no_call(category: str) -> bool:
    """Return True for the categories in which any call is wrong."""
    return "irrelevance" in category


def has_calls_to_check(category: str) -> bool:
    """Return True for categories with accepted calls: all but irrelevance and relevance."""
    return "relevance" not in category


@dataclass(frozen=True)
class SingleTurnRows:
    """The samples of a category in one mode (`fc` or `prompt`), read from the installed package."""

    category: str
    mode: str = FC

    @property
    def name(self) -> str:
        """The name of this source of rows, for error messages."""
        return f"bfcl-eval, category {self.category}"

    def __call__(self) -> list[Sample]:
        """Return the samples."""
        bfcl = load_bfcl()
        if self.mode == PROMPT:
            check_parser(self.category)
        hinted = bfcl.entries(self.category, with_hints=True)
        plain = bfcl.entries(self.category, with_hints=False)
        truths: Sequence[Any] = [None] * len(hinted)
        if has_calls_to_check(self.category):
            truths = bfcl.ground_truths(self.category)
        samples = []
        for entry, bare, truth in zip(hinted, plain, truths, strict=True):
            samples.append(self._sample(entry, bare["function"], truth))
        return samples

    def _sample(
        self,
        entry: Mapping[str, Any],
        functions: object,
        truth: object,
    ) -> Sample:
        bfcl = load_bfcl()
        [messages] = entry["question"]
        tools: Sequence[Any] = ()
        if self.mode == FC:
            tools = bfcl.openai_tools(entry["function"])
        else:
            messages = bfcl.prompted(messages, entry["function"], entry["id"])
        fields = {
            "function": functions,
            "ground_truth": truth,
            "category": self.category,
            "mode": self.mode,
            "bfcl_eval": version(),
        }
        if truth is None:
            target = None
        else:
            target = json.dumps(truth, ensure_ascii=False)
        return Sample(
            id=entry["id"],
            input=as_messages(messages),
            target=target,
            fields=fields,
            tools=read_tools(tools),
        )


def bfcl(sample: Sample, output: Output) -> Score:
    """Return BFCL's verdict on the function calls in an answer. Without a readable call, the answer is unparsed."""
    category = sample["category"]
    try:
        decoded = _decode(sample, output)
    except Undecoded as error:
        if not has_calls_to_check(category):
            return Score(float(wants_no_call(category)), answer="")
        why = {"error_type": "ast_decoder:decoder_failed", "error": str(error)}
        return Score.unparsed(**why)
    answer = json.dumps(
        decoded,
        ensure_ascii=False,
        default=str,
    )
    if not has_calls_to_check(category):
        is_call = not load_bfcl().is_no_call(decoded)
        return Score(float(is_call != wants_no_call(category)), answer=answer)
    truth = sample["ground_truth"]
    verdict = load_bfcl().check_calls(
        category,
        sample["mode"],
        sample["function"],
        decoded,
        truth,
    )
    if verdict.is_right:
        return Score(1.0, answer=answer)
    details = {"error_type": verdict.error_type, "error": verdict.error}
    outcome = Outcome.SCORED if decoded else Outcome.UNPARSED
    return Score(
        0.0,
        outcome,
        answer=answer,
        details=details,
    )


def _decode(sample: Sample, output: Output) -> list[Any]:
    """Return the calls in the checker's format. Raise `Undecoded` if the answer has none."""
    if sample["mode"] == PROMPT:
        return load_bfcl().decode_text(output.text, sample["category"])
    if not output.last_calls:
        raise Undecoded("no call")
    return decoded_calls(output.last_calls)
