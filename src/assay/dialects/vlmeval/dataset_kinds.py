"""Dataset classes by type of question, with their prompts and evaluation.

The types are multiple choice, free answers, yes or no, and multi-turn dialogues.
"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from ..kits.many_calls import track_progress_rich
from ..kits.message_content import Entries
from ..kits.smp.file import dump, get_intermediate_file_path, load
from ..kits.smp.misc import toliststr
from ..shapes import Record
from . import vlmeval_ratings as ratings
from .dataset_bases import ImageBaseDataset, TextBaseDataset
from .matched_choice import mcq_circular_eval, mcq_vanilla_eval, report_acc
from .score_files import with_lower_names
from .vlmeval_judging import build_judge
from .vlmeval_prompts import question_with_options

if TYPE_CHECKING:
    from pandas import DataFrame, Series


class ImageMCQDataset(ImageBaseDataset):
    """Multiple-choice questions about images, with the options A, B, C and so on."""

    TYPE: ClassVar[str] = "MCQ"
    DEFAULT_JUDGE: ClassVar[Any] = ["chatgpt-0125", "gpt-4-0125"]

    def build_prompt(self, line: "int | Series") -> Entries:
        """Return the prompt of a line: its images, then hint, question and options."""
        line = self._assay_line(line)
        return [
            *self._assay_images(line),
            {"type": "text", "value": question_with_options(line)},
        ]

    def evaluate(self, eval_file: str, **judge_kwargs: object) -> "DataFrame":
        """Return the accuracy of a prediction file. Rules match the answers, then a judge if one is given.

        In datasets with rotated copies, a question is correct if all its rotations are.
        Runs of assay do not call this method: they score each sample, with intervals.
        It is for `super().evaluate(…)`.
        """
        return self.evaluate_heuristic(eval_file, **judge_kwargs)

    def evaluate_heuristic(self, eval_file: str, **judge_kwargs: object) -> "DataFrame":
        """Do the same as `evaluate`. VLMEvalKit's subclasses call this name."""
        return evaluate_choice(self, eval_file, judge_kwargs)


class CustomMCQDataset(ImageMCQDataset):
    """Multiple choice from a TSV in `$LMUData` that no dataset class declares."""


class TextMCQDataset(TextBaseDataset):
    """Multiple-choice questions without images, with the options A, B, C and so on."""

    TYPE: ClassVar[str] = "MCQ"

    def build_prompt(self, line: "int | Series") -> Entries:
        """Return the prompt of a line: hint, question and options."""
        return [
            {"type": "text", "value": question_with_options(self._assay_line(line))}
        ]

    def evaluate(self, eval_file: str, **judge_kwargs: object) -> "DataFrame":
        """Return the accuracy of a prediction file, by rules and then by a judge if one is given."""
        return evaluate_choice(self, eval_file, judge_kwargs, rotates=False)


class CustomTextMCQDataset(TextMCQDataset):
    """Multiple choice without images, from a TSV in `$LMUData` that no dataset class declares."""


class ImageVQADataset(ImageBaseDataset):
    """Questions about images with a short answer."""

    TYPE: ClassVar[str] = "VQA"

    def build_prompt(self, line: "int | Series") -> Entries:
        """Return the prompt of a line: its images and question, and the instruction to answer briefly."""
        message = super().build_prompt(line)
        message[-1]["value"] += "\nAnswer the question using a single word or phrase."
        return message


class CustomVQADataset(ImageBaseDataset):
    """Questions without options, from a TSV in `$LMUData`. Subclasses define `evaluate`."""

    TYPE: ClassVar[str] = "VQA"


RATINGS = {
    "MME": "MME_rating",
    "Hallusion": "Hallusion_rating",
    "POPE": "POPE_rating",
    "AMBER": "AMBER_rating",
    "VSR-zeroshot": "VSR_rating",
}
"""Rating functions, by a part of the dataset's name. The first matching part decides."""


class ImageYORNDataset(ImageBaseDataset):
    """Questions about images that are answered by yes or no."""

    TYPE: ClassVar[str] = "Y/N"

    def build_prompt(self, line: "int | Series") -> Entries:
        """Return the prompt of a line: its images and question; for AMBER also the instruction to answer yes or no."""
        messages = super().build_prompt(line)
        if self.dataset_name == "AMBER":
            messages[-1]["value"] += "\nPlease answer yes or no."
        return messages

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> "DataFrame":
        """Return the benchmark's own rating of a prediction file, for subclasses.

        Yes or no is read from the words of an answer or, if they are unclear and a
        judge is given, by the judge.
        """
        storage = get_intermediate_file_path(eval_file, "_auxmatch")
        nproc = judge_kwargs.pop("nproc", 4)
        if not os.path.exists(storage):
            data = load(eval_file)
            data["prediction"] = [str(text) for text in data["prediction"]]
            read = {}
            rows = []
            for number in range(len(data)):
                row = data.iloc[number]
                read[row["index"]] = ratings.YOrN_Extraction(row["prediction"])
                if read[row["index"]] == "Unknown":
                    rows.append(row)
            if judge_kwargs.get("model", NO_JUDGE) != NO_JUDGE:
                judge = build_judge(**judge_kwargs)
                keys = [row["index"] for row in rows]
                replies = track_progress_rich(
                    ratings.YOrN_auxeval,
                    [(judge, row) for row in rows],
                    nproc=nproc,
                    keys=keys,
                    save=get_intermediate_file_path(eval_file, "_tmp", "pkl"),
                )
                read.update(zip(keys, replies, strict=True))
            data["extracted"] = [read[index] for index in data["index"]]
            dump(data, storage)
        data = load(storage)
        if "AMBER" in self.dataset_name:
            data["score"] = data["answer"].str.lower() == data["extracted"].str.lower()
        else:
            data["score"] = data["answer"] == data["extracted"]
        dump(data, storage)
        named = (name for part, name in RATINGS.items() if part in self.dataset_name)
        score = getattr(ratings, next(named, "default_rating"))(storage)
        dump(score, get_intermediate_file_path(eval_file, "_score", "csv"))
        return score


NO_JUDGE = "exact_matching"
IMAGE_MARK = "<ImageHere>"


class ImageMTDataset(ImageBaseDataset):
    """Dialogues about images.

    `question` and `answer` are lists with an entry for each turn; `<ImageHere>` in a question marks an image.
    """

    TYPE: ClassVar[str] = "MT"

    def build_prompt(self, line: "int | Series") -> Entries:
        """Return the whole dialogue of a line as a chat, with the reference answers between the user's turns."""
        line = self._assay_line(line)
        images = iter(
            toliststr(line["image_path"]) if self.meta_only else self.dump_image(line)
        )
        questions = toliststr(line["question"])
        answers = [""] * len(questions)
        if "answer" in line:
            answers = toliststr(line["answer"])
        if len(questions) != len(answers):
            raise ValueError(
                f"{len(questions)} questions and {len(answers)} answers in one dialogue"
            )
        chat = []
        for question, answer in zip(questions, answers, strict=True):
            chat.append({"role": "user", "content": _interleaved(question, images)})
            chat.append(
                {"role": "assistant", "content": [{"type": "text", "value": answer}]}
            )
        return chat


def _interleaved(question: str, images: Iterator[str]) -> list[dict[str, str]]:
    """Split a turn into text and images, with an image in place of each `<ImageHere>`."""
    content: list[dict[str, str]] = []
    for number, words in enumerate(question.split(IMAGE_MARK)):
        if number:
            image = next(images, None)
            if image is None:
                raise ValueError(
                    f"the dialogue says {IMAGE_MARK} more often than it has images"
                )
            content.append({"type": "image", "value": image})
        if words:
            content.append({"type": "text", "value": words})
    return content


CIRCULAR = ("mmbench", "ccbench", "circular", "mmcr")
JUDGE_FILES = {"chatgpt-0125": "openai", "gpt-4-0125": "gpt4"}
"""Short names for some judges, which VLMEvalKit uses in file names."""


def evaluate_choice(
    dataset: Any,
    eval_file: str,
    judge_kwargs: Record,
    *,
    rotates: bool = True,
) -> "DataFrame":
    """Return the accuracy of a prediction file by split and category.

    Write the files `_<judge>_result` and `_acc.csv` next to the predictions. If
    `rotates` is True, a question counts as correct only if all its rotated copies are
    answered correctly.
    """
    name = dataset.dataset_name
    nproc = judge_kwargs.pop("nproc", 4)
    judge_name = judge_kwargs.get("model", NO_JUDGE)
    if judge_name == NO_JUDGE:
        judge = None
    else:
        judge = build_judge(**judge_kwargs)
    label = JUDGE_FILES.get(judge_name, judge_name)
    data = load(eval_file)
    is_circular = rotates and any(part in name.lower() for part in CIRCULAR)
    if is_circular:
        data["index"] = [int(index) for index in data["index"]]
        dump(data, eval_file)
        data = load(eval_file)
    data = data.sort_values(by="index")
    data["prediction"] = [str(text) for text in data["prediction"]]
    data = with_lower_names(data)
    unknown = set(data["index"]) - set(dataset.data["index"])
    if unknown:
        raise AssertionError(
            f"the prediction file has rows that {name} has not: {sorted(map(str, unknown))[:3]}"
        )
    result_file = get_intermediate_file_path(eval_file, f"_{label}_result", "pkl")
    if is_circular:
        evaluate = mcq_circular_eval
    else:
        evaluate = mcq_vanilla_eval
    verdicts = evaluate(judge, data, dataset.data, nproc, result_file, name)
    record = get_intermediate_file_path(eval_file, f"_{label}_result")
    dump(verdicts, record)
    accuracy = report_acc(load(record))
    dump(accuracy, get_intermediate_file_path(eval_file, "_acc", "csv"))
    return accuracy
