"""`vlmeval.dataset.utils.mmvet`: a judge's grade from 0 to 1, and its means of 100."""

from collections.abc import Mapping
from typing import Any

from ......scorers.vision.mmvet import TEMPERATURES, grading_prompt
from ....era import upstreams_rule
from ....reports import capability_tables
from ...smp.file import load

STANDS_IN = True
__all__ = ["MMVet_acc", "MMVet_auxeval", "build_mmvet_gpt4_prompt"]


def build_mmvet_gpt4_prompt(line: Mapping[str, Any]) -> str:
    """What the judge is asked, in our words: question, reference and prediction stand at its end."""
    reference = (
        str(line["answer"]).replace("<AND>", " <AND> ").replace("<OR>", " <OR> ")
    )
    return (
        grading_prompt(str(line["question"]), reference, str(line["prediction"]))
        .messages[0]
        .text
        + " "
    )


def MMVet_auxeval(model: Any, line: Mapping[str, Any]) -> dict[str, Any]:
    """The grade and a log; 0.0 after five replies that are no grade.

    A reply is a grade if the whole of it is a number from 0 to 1, as upstream reads it.
    """
    prompt = build_mmvet_gpt4_prompt(line)
    log = ""
    for place, temperature in enumerate(TEMPERATURES):
        reply = model.generate(prompt, temperature=temperature)
        try:
            grade = float(reply)
        except ValueError:
            log += f"Try {place}: output is {reply}, failed to parse.\n"
            continue
        if grade < 0 or grade > 1:
            log += f"Try {place}: output is {reply}, invalid score: {grade}.\n"
            continue
        return {"log": f"{log}Succeed", "score": grade}
    return {"log": f"{log}All 5 retries failed.\n", "score": 0.0}


def MMVet_acc(result_file: str) -> tuple[Any, Any]:
    """The means of 100 by capability, and by combination of capabilities, of a graded file."""
    data = load(result_file)
    graded = list(zip(data["category"], data["score"], strict=True))
    return capability_tables(graded, counts_twice=upstreams_rule())
