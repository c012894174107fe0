"""`vlmeval.dataset.image_mt`: dialogues of several turns about images."""

from typing import Any, ClassVar

from ..smp.misc import toliststr
from .image_base import ImageBaseDataset

__all__ = ["ImageMTDataset"]

PLACE = "<ImageHere>"


class ImageMTDataset(ImageBaseDataset):
    """Dialogues: `question` and `answer` list an entry for each turn, `<ImageHere>` is where an image goes."""

    TYPE: ClassVar[str] = "MT"

    def build_prompt(self, line: Any) -> Any:
        """The whole dialogue as a chat, the reference answers between the user's turns."""
        line = self._assay_line(line)
        images = iter(
            toliststr(line["image_path"]) if self.meta_only else self.dump_image(line)
        )
        questions = toliststr(line["question"])
        answers = (
            toliststr(line["answer"]) if "answer" in line else [""] * len(questions)
        )
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


def _interleaved(question: str, images: Any) -> list[dict[str, str]]:
    """The words of a turn with its images where it says so."""
    content: list[dict[str, str]] = []
    for number, words in enumerate(question.split(PLACE)):
        if number:
            image = next(images, None)
            if image is None:
                raise ValueError(
                    f"the dialogue says {PLACE} more often than it has images"
                )
            content.append({"type": "image", "value": image})
        if words:
            content.append({"type": "text", "value": words})
    return content
