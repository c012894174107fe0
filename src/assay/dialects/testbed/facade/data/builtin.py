"""The datasets the testbed brings: how their rows become conversations.

Row schemas: vqav2, ok_vqa and ocr_vqa `image, question, answer`; coco and flickr `image, caption`; hateful_memes
`img, text, label`; seed_bench `image, question, choice_a` to `choice_d`, `answer`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ...stemming import stemmed
from ...words import words_of
from .common import register_dataset_retriever, register_postprocess

Row = Mapping[str, Any]
_HATEFUL = frozenset({"yes", "y", "hateful", "hate"})
_BENIGN = frozenset({"no", "n", "non-hateful", "benign"})


def visual_question(item: Row, is_last: bool) -> tuple[list[dict[str, Any]], Any]:
    """An image, a question about it and a short answer."""
    turns = [
        _images(1),
        _text("question", item["question"]),
        _answer("answer", is_last, item, "answer"),
    ]
    return turns, item["image"]


def caption(item: Row, is_last: bool) -> tuple[list[dict[str, Any]], Any]:
    """An image and what it shows."""
    return [_images(1), _answer("caption", is_last, item, "caption")], item["image"]


def hateful_meme(item: Row, is_last: bool) -> tuple[list[dict[str, Any]], Any]:
    """A meme, and whether it is hateful."""
    question = f'is an image with written "{item["text"]}" on it. Is it hateful?'
    row = {} if is_last else {"verdict": "yes" if item["label"] == 1 else "no"}
    return [
        _images(1),
        _text("question", question),
        _answer("answer", is_last, row, "verdict"),
    ], item["img"]


def lettered_question(item: Row, is_last: bool) -> tuple[list[dict[str, Any]], Any]:
    """One or more images, a question, four choices and a letter."""
    images = item["image"]
    choices = " ".join(
        f"{letter.upper()}. {item[f'choice_{letter}']}" for letter in "abcd"
    )
    turns = [
        _images(len(images) if isinstance(images, (list, tuple)) else 1),
        _text("question", item["question"]),
        _text("choices", choices, "Answer with the letter."),
        _answer("answer", is_last, item, "answer"),
    ]
    return turns, images


def unchanged(text: str) -> str:
    """The prediction as it is."""
    return text


def is_hateful(text: str) -> int:
    """1 if the first word that says yes or no says yes; 0 if it says no, or if no word does."""
    for word in words_of(text.lower()):
        if word in _HATEFUL:
            return 1
        if word in _BENIGN:
            return 0
    return 0


def _images(count: int) -> dict[str, Any]:
    return {"role": "image", "content": [{"type": "image"} for _ in range(count)]}


def _text(role: str, *texts: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}


def _answer(role: str, is_last: bool, item: Row, column: str) -> dict[str, Any]:
    return {"role": role} if is_last else _text(role, item[column])


SHIPPED: Mapping[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    **dict.fromkeys(("vqav2", "ocr_vqa"), (visual_question, unchanged)),
    "ok_vqa": (visual_question, stemmed),
    **dict.fromkeys(("coco", "flickr"), (caption, unchanged)),
    "hateful_memes": (hateful_meme, is_hateful),
    "seed_bench": (lettered_question, unchanged),
}
"""Retriever and post-process of each, by the name of its folder."""


def register() -> None:
    """Registers all of them."""
    for name, (retriever, postprocess) in SHIPPED.items():
        register_dataset_retriever(name)(retriever)
        register_postprocess(name)(postprocess)
