"""IFEval as a scorer: all instructions of a prompt followed, strictly and loosely.

`details` has the verdict on each instruction. The accuracy over instructions pools those, since prompts have from
one to three.
"""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ....core import MissingExtra, Outcome, Output, Sample, Score
from ....registry import scorers
from ...answers import data_error, no_answer
from .ifeval_verdict import follows


@scorers.register("ifeval")
@dataclass(frozen=True)
class IfEval:
    """`prompt_strict` and `prompt_loose` of one response. The summarizer `instructions` adds both by instruction."""

    reads: ClassVar[tuple[str, ...]] = ("text",)
    summarizers: ClassVar[tuple[str, ...]] = ("mean", "instructions")

    def __post_init__(self) -> None:
        # Without the library only some rows could be scored, so that the run is refused before it starts.
        if importlib.util.find_spec("langdetect") is None:
            raise MissingExtra(
                "langdetect, which scorer 'ifeval' tells languages by,",
                "'assay[metrics]'",
            )

    def __call__(self, sample: Sample, output: Output) -> Score:
        names: Sequence[str] | None = sample.fields.get("instruction_id_list")
        arguments: Sequence[Mapping[str, Any]] | None = sample.fields.get("kwargs")
        if not names or arguments is None:
            return data_error(
                f"sample {sample.id!r} has no instruction_id_list with kwargs"
            )
        try:
            verdict = follows(output.text, names, arguments)
        except ValueError as fault:
            return data_error(str(fault))
        silence = no_answer(output)
        return Score(
            {
                "prompt_strict": float(verdict.prompt_strict),
                "prompt_loose": float(verdict.prompt_loose),
            },
            silence.outcome if silence else Outcome.SCORED,
            details={
                "asked": len(names),
                "strict": sum(verdict.strict),
                "loose": sum(verdict.loose),
                "each_strict": list(zip(names, verdict.strict, strict=True)),
                "each_loose": list(zip(names, verdict.loose, strict=True)),
            },
        )
