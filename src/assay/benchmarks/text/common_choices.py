"""MMLU, ARC, HellaSwag, OpenBookQA, CommonsenseQA, PIQA: questions with options, measured the best way a model allows.

One row of each: `{"question": "…", "subject": "anatomy", "choices": ["…", …], "answer": 1}` (MMLU);
`{"id": "…", "question": "…", "choices": {"text": ["…", …], "label": ["A", …]}, "answerKey": "B"}` (ARC, CommonsenseQA,
and OpenBookQA with `question_stem`); `{"ind": 24, "ctx": "A man …", "endings": ["…", …], "label": "3"}` (HellaSwag);
`{"goal": "…", "sol1": "…", "sol2": "…", "label": 0}` (PIQA).

Citations: Hendrycks et al. 2021, arXiv 2009.03300 (MMLU); Clark et al. 2018, arXiv 1803.05457 (ARC); Zellers et al.
2019, arXiv 1905.07830 (HellaSwag); Mihaylov et al. 2018, arXiv 1809.02789 (OpenBookQA); Talmor et al. 2019, arXiv
1811.00937 (CommonsenseQA); Bisk et al. 2020, arXiv 1911.11641 (PIQA).
Licences: MIT, CC BY-SA 4.0, MIT, Apache-2.0, MIT, AFL-3.0.

Protocols: `…@letter_likelihood` weighs the options' letters after the question with its options (MMLU, CommonsenseQA),
`…@text_likelihood` the options' texts after the bare question (the others),
`…@first_token` takes the most probable letter before anything is written, `…@letter` reads the letter a model writes.
The first of them that the model can serve is taken; `--measure` names another.
"""

from collections.abc import Mapping
from typing import Any

from ...core import DataError, DataSource, GenerateOptions, Measure, Sample, Task
from ...templates import ChoiceLikelihood, Choices
from ...templates.jinja import LETTERS

FOLDER = "benchmarks/data/text"


def labelled(row: Mapping[str, Any]) -> Sample:
    """A row whose options are `{"text": […], "label": […]}`; labels may be digits, the target is the option's place."""
    options = row["choices"]
    labels = [str(label) for label in options["label"]]
    answer = str(row["answerKey"])
    if answer not in labels:
        raise DataError(
            f"answerKey {answer!r} is none of the labels {', '.join(labels)}"
        )
    question = row.get("question", row.get("question_stem"))
    return _sample(row.get("id"), question, options["text"], labels.index(answer))


def ending(row: Mapping[str, Any]) -> Sample:
    """A HellaSwag row: a beginning and four endings."""
    return _sample(row.get("ind"), str(row["ctx"]), row["endings"], int(row["label"]))


def solution(row: Mapping[str, Any]) -> Sample:
    """A PIQA row: a goal and two ways to reach it."""
    return _sample(
        row.get("id"), str(row["goal"]), (row["sol1"], row["sol2"]), int(row["label"])
    )


def _sample(name: Any, question: Any, options: Any, right: int) -> Sample:
    texts = tuple(str(option) for option in options)
    if not 0 <= right < len(texts):
        raise DataError(f"the answer is option {right} and there are {len(texts)}")
    return Sample(
        id="" if name is None else str(name),
        input=str(question),
        choices=texts,
        target=LETTERS[right],
    )


def _texts(
    answer_prefix: str = "Answer:", question_prefix: str = "Question: "
) -> Measure:
    """The options' texts weighed after the question alone."""
    return Measure(
        "text_likelihood",
        template=ChoiceLikelihood(
            "text", question_prefix=question_prefix, answer_prefix=answer_prefix
        ),
        scorers=({"name": "choice_likelihood", "continuation": "text"},),
        needs=frozenset({"likelihood"}),
    )


LETTERS_WEIGHED = Measure(
    "letter_likelihood",
    template=ChoiceLikelihood("letter"),
    scorers=({"name": "choice_likelihood", "continuation": "letter"},),
    needs=frozenset({"likelihood"}),
)
"""The letters after "Question: … Answer:", as the numbers of MMLU are published."""


def _task(
    name: str, hub: str, likelihood: Measure, config: str | None = None, **more: Any
) -> Task:
    split = more.pop("split", "test")
    mini = more.pop("mini", name)
    task = Task(
        name=name,
        dataset=DataSource(
            hub=hub,
            config=config,
            split=split,
            local=(
                f"{name}/{split}.jsonl",
                f"{name}.jsonl",
                f"{name}/{split}-00000-of-00001.parquet",
            ),
            mini=f"{FOLDER}/{mini}.jsonl",
        ),
        template=Choices(layout="lines"),
        scorers=("choice",),
        measures=(likelihood, "first_token", "letter"),
        options=GenerateOptions(temperature=0.0, max_tokens=32),
    )
    return task.but(**more)


mmlu = _task(
    "mmlu",
    "cais/mmlu",
    LETTERS_WEIGHED,
    "all",
    tags=("subject",),
    description="57 subjects, four options; format-checked",
    citation="arXiv 2009.03300",
    licence="MIT",
    data_hint="JSONL or Parquet with question, subject, choices (a list), answer (0 to 3)",
)

_ARC = {
    "to_sample": labelled,
    "citation": "arXiv 1803.05457",
    "licence": "CC BY-SA 4.0",
    "data_hint": "JSONL or Parquet with id, question, choices (text and label), answerKey",
    "mini": "arc",
}
arc_challenge = _task(
    "arc_challenge",
    "allenai/ai2_arc",
    _texts(),
    "ARC-Challenge",
    description="school science, the harder part; format-checked",
    **_ARC,
)
arc_easy = _task(
    "arc_easy",
    "allenai/ai2_arc",
    _texts(),
    "ARC-Easy",
    description="school science, the easier part; format-checked",
    **_ARC,
)
hellaswag = _task(
    "hellaswag",
    "Rowan/hellaswag",
    _texts(answer_prefix="", question_prefix=""),
    split="validation",
    to_sample=ending,
    description="which ending follows, four endings; format-checked",
    citation="arXiv 1905.07830",
    licence="MIT",
    data_hint="JSONL or Parquet with ind, ctx, endings (a list), label (0 to 3)",
)
openbookqa = _task(
    "openbookqa",
    "allenai/openbookqa",
    _texts(answer_prefix="", question_prefix=""),
    "main",
    to_sample=labelled,
    description="elementary science beyond the sentence, four options; format-checked",
    citation="arXiv 1809.02789",
    licence="Apache-2.0",
    data_hint="JSONL or Parquet with id, question_stem, choices (text and label), answerKey",
)
commonsense_qa = _task(
    "commonsense_qa",
    "tau/commonsense_qa",
    LETTERS_WEIGHED,
    split="validation",
    to_sample=labelled,
    description="everyday knowledge, five options; format-checked",
    citation="arXiv 1811.00937",
    licence="MIT",
    data_hint="JSONL or Parquet with id, question, choices (text and label), answerKey",
)
piqa = _task(
    "piqa",
    "ybisk/piqa",
    _texts(),
    split="validation",
    to_sample=solution,
    description="which of two ways reaches a goal; format-checked",
    citation="arXiv 1911.11641",
    licence="AFL-3.0",
    data_hint="JSONL or Parquet with goal, sol1, sol2, label (0 or 1)",
)
