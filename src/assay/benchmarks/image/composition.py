"""Images from composed and imagined prompts: T2I-CompBench, GenAI-Bench, GenEval++, ImagineBench.

One row: `{"index": "12", "prompt": "a red ball and a blue box", "category": "color"}`; ImagineBench has its kind of
prompt in `type`, GenAI-Bench its skills in `category`.

Citations: T2I-CompBench arXiv 2307.06350; GenAI-Bench arXiv 2406.13743; GenEval++ and ImagineBench arXiv 2508.09987.

Protocols: `t2i_compbench@worker` takes the number, 0 to 1, that the model under the role `compbench` gives each of
ten images (BLIP-VQA, UniDet or CLIP in the official code, by category); `t2i_compbench@parts` asks three
specialists, under the roles `vqa`, `detector` and `clip`, and does the official arithmetic on what they say.
`genai_bench@vqascore` takes the number of the role `vqascore` (CLIP-FlanT5); numbers come as JSON `{"score": 0.83}`.
`geneval_pp@judge-v2` is a judge's yes or no, as the mean of the tags' shares. `imagine_bench@judge-v2` has ratings 0
to 10: .8 of the lesser of fantasy and identity and .2 of aesthetics, as the mean over four kinds of prompts weighed
3, 2, 2 and 2; `imagine_bench@ulmeval` weighs .6 fantasy, .3 identity, .1 aesthetics and takes the mean over prompts,
as ULMEvalKit does. The judge sees the image; the wording is assay's own, so numbers are not the published ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...core import DataSource, Sample, Task
from ...scorers.asked import Asked
from ...scorers.judge.judge_ratings import JudgeRatings
from ...scorers.saved_number import SavedNumber
from ...summarizers.weighted import GroupMean
from ...templates import Question
from ..vision.tables import RowOf, tag_of
from .rows import FREE, prompts

MINI = "benchmarks/data/image/prompts.jsonl"
LOOK = (
    "The answer is a picture that was made for the prompt in the question. It is right only if every object, number, "
    "colour, size and place that the prompt names is to be seen in it, nothing contradicts the prompt, and it is one "
    "coherent picture that looks like a photograph: no drawing, no collage, no panels. Be strict."
)
IMAGINED = {
    "fantasy": "does the picture show the unreal thing that the prompt asks for?",
    "identity": "can what the prompt is about still be recognized as what it is?",
    "aesthetics": "is the picture well made?",
}
KINDS = {
    "color": "attribute shift",
    "shape": "attribute shift",
    "size": "attribute shift",
    "material": "hybridization",
    "combination": "hybridization",
    "time": "spatiotemporal",
    "environment": "spatiotemporal",
    "two_object": "multi-object",
}
"""ImagineBench's types of prompts by the kind they are counted under; any other type is a kind of its own."""
WEIGHTS = {
    "attribute shift": 3.0,
    "hybridization": 2.0,
    "spatiotemporal": 2.0,
    "multi-object": 2.0,
}


@dataclass(frozen=True)
class ImaginedRatings(JudgeRatings):
    """Three ratings; `overall` is .8 of the lesser of fantasy and identity and .2 of aesthetics."""

    def overall(self, ratings: Mapping[str, float]) -> float:
        """One value from 0 to 10."""
        return (
            0.8 * min(ratings["fantasy"], ratings["identity"])
            + 0.2 * ratings["aesthetics"]
        )


def instruction_as_prompt(row: RowOf) -> Sequence[RowOf]:
    """The row; the official file asks in `instruction`."""
    return [
        {**row, "prompt": row["instruction"]}
        if "instruction" in row and "prompt" not in row
        else row
    ]


def kind_of(row: RowOf) -> dict[str, str]:
    """ImagineBench's type of a prompt, and the kind it is counted under."""
    name = str(row.get("type") or "").strip()
    return {"type": name, "kind": KINDS.get(name.lower(), name.lower())} if name else {}


def prompt_of(sample: Sample) -> str:
    """What the image should show."""
    return str(sample.input)


t2i_compbench = Task(
    name="t2i_compbench",
    dataset=DataSource(local=("T2ICompBench_VAL.tsv",), mini=MINI, read=prompts()),
    template=Question(),
    scorers=(
        Asked("compbench", "score", SavedNumber(), prompt_of, name="t2i_compbench"),
    ),
    summarizers=("mean", GroupMean("category")),
    options=FREE.set(n=10),
    produces=("image",),
    protocol="t2i_compbench@worker",
    description="T2I-CompBench: attributes and relations by a worker (means as published)",
    citation="arXiv 2307.06350",
    licence="MIT",
    data_hint="T2ICompBench_VAL.tsv with index, prompt, category",
)
t2i_compbench_parts = t2i_compbench.but(
    name="t2i_compbench_parts",
    scorers=("t2i_compbench",),
    protocol="t2i_compbench@parts",
    description="T2I-CompBench from a VQA model, a detector and CLIP (arithmetic as published)",
    data_hint="T2ICompBench_VAL.tsv with index, prompt, category; phrases, objects, relation where known",
)
genai_bench = t2i_compbench.but(
    name="genai_bench",
    dataset=DataSource(local=("GenAI_Bench.tsv",), mini=MINI, read=prompts()),
    scorers=(Asked("vqascore", "score", SavedNumber(), prompt_of, name="vqascore"),),
    summarizers=("mean",),
    options=FREE,
    protocol="genai_bench@vqascore",
    description="GenAI-Bench: VQAScore by a worker (means as published)",
    citation="arXiv 2406.13743",
    licence="see its data card",
    data_hint="GenAI_Bench.tsv with index, prompt, category",
)
geneval_pp = genai_bench.but(
    name="geneval_pp",
    dataset=DataSource(
        local=("GenEvalPP.tsv", "GenEval++.tsv", "Geneval++.jsonl"),
        mini=MINI,
        read=prompts(tag_of("tag")),
    ),
    scorers=(
        {
            "name": "judge",
            "scale": "yes-no",
            "template": "rubric",
            "criteria": LOOK,
            "expects": "image",
        },
    ),
    summarizers=(GroupMean("tag"), "mean"),
    protocol="geneval_pp@judge-v2",
    description="GenEval++: a judge's yes or no, mean of the tags (arithmetic as published)",
    citation="arXiv 2508.09987",
    data_hint="GenEvalPP.tsv with index, prompt, tag",
)
imagine_bench = geneval_pp.but(
    name="imagine_bench",
    dataset=DataSource(
        local=("ImagineBench.tsv", "Imagine.jsonl"),
        mini=MINI,
        read=replace(prompts(kind_of), reshape=instruction_as_prompt),
    ),
    scorers=(ImaginedRatings(IMAGINED, expects="image"),),
    summarizers=tuple(
        GroupMean("kind", WEIGHTS, f"judge_ratings.{value}", f"judge_ratings.{value}")
        for value in ("overall", *IMAGINED)
    ),
    protocol="imagine_bench@judge-v2",
    description="ImagineBench: a judge's three ratings, by kind (arithmetic as published)",
    data_hint="ImagineBench.tsv with index, prompt, type; or Imagine.jsonl with id, instruction, type",
)
imagine_bench_ulmeval = imagine_bench.but(
    name="imagine_bench_ulmeval",
    scorers=(
        JudgeRatings(
            IMAGINED,
            {"fantasy": 0.6, "identity": 0.3, "aesthetics": 0.1},
            expects="image",
        ),
    ),
    summarizers=("mean",),
    protocol="imagine_bench@ulmeval",
    description="ImagineBench, weighted as in ULMEvalKit (arithmetic as published)",
)
