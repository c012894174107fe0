"""Rows as the testbed's loading scripts read them: a few of each dataset, with images of one colour."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

COLOURS = ("red", "green", "blue", "white")
SPLITS = {"train2014": (1, 2), "val2014": (3, 4)}


def write(name: str, folder: Path) -> str:
    """Write the files that a dataset's script reads. Return them as `--data` expects."""
    folder.mkdir(parents=True, exist_ok=True)
    return _WRITERS[name](folder)


def images(folder: Path, names: list[str]) -> None:
    """Images under these names."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    for at, name in enumerate(names):
        Image.new("RGB", (28, 28), COLOURS[at % len(COLOURS)]).save(folder / name)


def _save(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value))


def _questions(folder: Path, question_file: str, annotation_file: str) -> str:
    for split, numbers in SPLITS.items():
        images(
            folder / split, [f"COCO_{split}_{number:012d}.jpg" for number in numbers]
        )
        asked = [
            {"image_id": n, "question": f"Is it {n}?", "question_id": n}
            for n in numbers
        ]
        answers = [
            {
                "answer": word,
                "raw_answer": word,
                "answer_confidence": "yes",
                "answer_id": at,
            }
            for at, word in enumerate(("yes", "yes", "no"))
        ]
        notes = [
            {
                "question_id": n,
                "image_id": n,
                "question_type": "is",
                "answer_type": "yes/no",
                "confidence": 1,
                "multiple_choice_answer": "yes",
                "answers": answers,
            }
            for n in numbers
        ]
        _save(folder / question_file.format(split), {"questions": asked})
        _save(folder / annotation_file.format(split), {"annotations": notes})
    return f"{folder}?images_dir={folder}"


def _vqav2(folder: Path) -> str:
    return _questions(
        folder, "v2_OpenEnded_mscoco_{}_questions.json", "v2_mscoco_{}_annotations.json"
    )


def _ok_vqa(folder: Path) -> str:
    return _questions(
        folder, "OpenEnded_mscoco_{}_questions.json", "mscoco_{}_annotations.json"
    )


def _captions(folder: Path, file: str, places: dict[str, str]) -> str:
    entries = []
    for at, (split, place) in enumerate(places.items()):
        name = f"{at}.jpg"
        images(folder / place, [name])
        sentences = [
            {"raw": f"a {word} thing", "tokens": ["a", word, "thing"], "sentid": at}
            for word in ("red", "big")
        ]
        entries += [
            {
                "filename": name,
                "sentids": [at, at],
                "imgid": 10 * at + more,
                "split": split,
                "cocoid": at,
                "sentences": sentences,
            }
            for more in range(3)
        ]
    _save(folder / file, {"images": entries})
    return f"{folder}?images_dir={folder}"


def _coco(folder: Path) -> str:
    return _captions(
        folder,
        "dataset_coco.json",
        {"train": "train2014", "val": "val2014", "test": "val2014"},
    )


def _flickr(folder: Path) -> str:
    return _captions(
        folder,
        "dataset_flickr30k.json",
        dict.fromkeys(("train", "val", "test"), "flickr30k-images"),
    )


def _ocr_vqa(folder: Path) -> str:
    images(folder / "images", ["b1.jpg", "b2.jpg", "b3.jpg"])
    books = {
        f"b{at}": {
            "split": at,
            "imageURL": f"http://example.invalid/b{at}.jpg",
            "questions": ["Who?", "What?"],
            "answers": ["yes", "no"],
            "genre": "g",
            "title": "t",
            "authorName": "a",
        }
        for at in (1, 2, 3)
    }
    _save(folder / "dataset.json", books)
    return f"{folder}?images_dir={folder / 'images'}"


def _hateful_memes(folder: Path) -> str:
    images(folder / "img", [f"{at}.png" for at in range(5)])
    for at, name in enumerate(
        ("train", "dev_seen", "dev_unseen", "test_seen", "test_unseen")
    ):
        row = {"id": at, "img": f"img/{at}.png", "label": at % 2, "text": "so it is"}
        (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    return str(folder)


def _seed_bench(folder: Path) -> str:
    images(folder / "SEED-Bench-image", ["1.jpg", "2.jpg"])
    asked = [
        {
            "answer": "A",
            **{f"choice_{letter}": letter for letter in "abcd"},
            "data_id": f"{at}.jpg",
            "data_type": "image",
            "question": "Which?",
            "question_id": str(at),
            "question_type_id": 1,
        }
        for at in (1, 2)
    ]
    _save(folder / "SEED-Bench.json", {"questions": asked})
    return str(folder)


_WRITERS: dict[str, Callable[[Path], str]] = {
    "vqav2": _vqav2,
    "ok_vqa": _ok_vqa,
    "ocr_vqa": _ocr_vqa,
    "coco": _coco,
    "flickr": _flickr,
    "hateful_memes": _hateful_memes,
    "seed_bench": _seed_bench,
}
