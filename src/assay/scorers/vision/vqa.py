"""VQA accuracy: how many annotators gave the same answer as the model.

Each annotator is left out once, which gives min(1, matches among the other annotators /
3). The score is the mean of these values. The official script exists in two versions,
so a published value must name its version. `always` normalizes every answer. `a013f00`,
the last revision, normalizes only if the annotators disagree. So if all of them wrote
`yes`, the answer `Yes` is wrong. `vlmevalkit` normalizes every answer with its own copy
of the rules, which keeps the period of `2.`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import accepted, data_error, no_answer, no_target
from ..scorer_options import check_option
from ..text.normalize_text import flatten, vqa_normal

Behaviour = Literal["always", "a013f00", "vlmevalkit"]


@scorers.register("vqa_accuracy")
@dataclass(frozen=True)
class VqaAccuracy:
    """VQA accuracy: the agreement with the annotators, leaving out one at a time.

    It is 1 if four or more gave this answer.
    """

    v: Behaviour = "always"
    """The variant to follow: the official script as `always` or `a013f00`, or its copy in `vlmevalkit`."""
    answers: str = "answers"
    """The column with one answer for each annotator. If it is missing, the targets are used."""
    reads: ClassVar[tuple[str, ...]] = ("text",)

    def __post_init__(self) -> None:
        check_option("vqa_accuracy", "v", self.v, get_args(Behaviour))

    def __call__(self, sample: Sample, output: Output) -> Score:
        answers = annotations(sample, self.answers)
        if not answers:
            return no_target(sample)
        if len(answers) == 1:
            return data_error("one annotator only: there is no other to agree with")
        silence = no_answer(output)
        if silence:
            return silence
        answer, normal = compared(output.text, answers, self.v)
        return Score(
            agreement(answer, normal),
            answer=answer,
            details={"v": self.v, "matches": normal.count(answer)},
        )


def vqa_accuracy(
    prediction: str,
    answers: Sequence[str],
    v: Behaviour = "always",
) -> float:
    """Return the accuracy of one prediction, 0 to 1; always 0 for a single annotator."""
    return agreement(*compared(prediction, answers, v))


def compared(
    prediction: str,
    answers: Sequence[str],
    v: Behaviour,
) -> tuple[str, list[str]]:
    """Return the prediction and the annotators' answers, normalized as in the chosen version."""
    flat = [flatten(answer) for answer in answers]
    if v == "a013f00" and len(set(flat)) == 1:
        return flatten(prediction), flat
    # Annotators mostly agree: each different answer is normalized once.
    as_vlmeval = v == "vlmevalkit"
    normal = {}
    for answer in set(flat):
        normal[answer] = vqa_normal(answer, as_vlmeval=as_vlmeval)
    answer_forms = [normal[answer] for answer in flat]
    return vqa_normal(prediction, as_vlmeval=as_vlmeval), answer_forms


def agreement(
    prediction: str,
    answers: Sequence[str],
) -> float:
    """Return the mean of min(1, matches among the other annotators / 3) over all annotators."""
    matches = answers.count(prediction)
    shares = []
    for answer in answers:
        if answer == prediction:
            others = matches - 1
        else:
            others = matches
        shares.append(min(1.0, others / 3))
    return sum(shares) / len(answers)


def annotations(sample: Sample, column: str) -> tuple[str, ...]:
    """Return the answers of the annotators from a column with texts or mappings `{"answer": text}`."""
    column_value = sample.fields.get(column)
    if isinstance(column_value, Iterable) and not isinstance(
        column_value, (str, Mapping)
    ):
        texts = tuple(_text(entry) for entry in column_value)
        if texts:
            return texts
    return accepted(sample)


def _text(entry: object) -> str:
    if isinstance(entry, Mapping):
        return str(entry["answer"])
    return str(entry)
