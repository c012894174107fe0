"""Makes the mini-sets of the vision-language families: a few rows each, every column of the format, drawn pictures.

Run `python tools/make_minisets.py` from the repository; the same Pillow gives the same bytes. Texts and images are
our own, CC0.
"""

import base64
import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

FOLDER = (
    Path(__file__).parent.parent / "src" / "assay" / "benchmarks" / "data" / "vision"
)
SIZE = (64, 48)
Row = dict[str, Any]


def drawn(*shapes: tuple[str, tuple[int, int, int, int], str], text: str = "") -> str:
    """Return a small image as base64 of a PNG: shapes `(kind, box, colour)`, then text in the lower corner."""
    picture = Image.new("RGB", SIZE, "white")
    pencil = ImageDraw.Draw(picture)
    for kind, box, colour in shapes:
        (pencil.ellipse if kind == "ball" else pencil.rectangle)(box, fill=colour)
    if text:
        pencil.text((4, 34), text, fill="black")
    kept = io.BytesIO()
    picture.quantize(8).save(kept, "PNG", optimize=True)
    return base64.b64encode(kept.getvalue()).decode()


BALL = drawn(("ball", (22, 8, 42, 28), "red"))
BOX = drawn(("box", (20, 8, 44, 28), "blue"))
BOTH = drawn(("ball", (4, 8, 24, 28), "red"), ("box", (36, 8, 60, 28), "blue"))
THREE = drawn(*[("ball", (4 + 20 * n, 10, 16 + 20 * n, 22), "green") for n in range(3)])
BARS = drawn(
    ("box", (8, 12, 18, 32), "blue"), ("box", (28, 2, 38, 32), "red"), text="20  30"
)
BILL = drawn(text="TOTAL 12.50")
WORD = drawn(text="HELLO")


def circular() -> list[Row]:
    """Two questions, each under all rotations of its options; one as V11 names its question."""
    rows: list[Row] = []
    questions = [
        (
            1,
            BALL,
            "What is in the picture?",
            "It is round.",
            ["a ball", "a box", "a tree"],
            0,
            "object",
            "perception",
        ),
        (
            2,
            BOX,
            "Which colour is the box?",
            "",
            ["red", "blue"],
            1,
            "colour",
            "perception",
        ),
    ]
    for index, picture, question, hint, options, right, category, broad in questions:
        for turn in range(len(options)):
            order = options[turn:] + options[:turn]
            cells = dict(zip("ABCD", [*order, *[""] * (4 - len(order))], strict=True))
            rows.append(
                {
                    "index": index + turn * 1_000_000,
                    # The rotations show the image of the first row: once by its index, once by an empty cell.
                    "image": picture
                    if turn == 0
                    else (str(index) if index == 1 else ""),
                    "question": question,
                    "hint": hint,
                    **cells,
                    "answer": "ABCD"[order.index(options[right])],
                    "category": category,
                    "l2-category": broad,
                    "split": "dev",
                    "g_index": index if index == 2 else "",
                    "comment": "",
                    "source": "drawn",
                }
            )
    return rows


def choices() -> list[Row]:
    """Options in columns, options in a list, several images with their places in the text."""
    plain = {
        "hint": "",
        "C": "",
        "D": "",
        "choices": "",
        "answer_option": "",
        "question_type": "",
        "split": "val",
    }
    return [
        {
            **plain,
            "index": 1,
            "image": THREE,
            "question": "How many balls are there?",
            "A": "two",
            "B": "three",
            "C": "four",
            "answer": "B",
            "category": "counting",
            "l2-category": "math",
        },
        {
            **plain,
            "index": 2,
            "image": BALL,
            "question": "What colour is the ball?",
            "hint": "It is no shade of blue.",
            "A": "red",
            "B": "blue",
            "answer": "A",
            "category": "colour",
            "l2-category": "perception",
        },
        {
            **plain,
            "index": 3,
            "image": str([BALL, BOX]),
            "question": "Does <image 1> or <image 2> show a box?",
            "A": "the first",
            "B": "the second",
            "answer": "B",
            "category": "object",
            "l2-category": "perception",
        },
        {
            **plain,
            "index": 4,
            "image": BARS,
            "question": "Which bar is higher? Choices: (A) left (B) right",
            "A": "",
            "B": "",
            "choices": "['left', 'right']",
            "answer": "B",
            "answer_option": "B",
            "question_type": "multi_choice",
            "category": "chart",
            "l2-category": "math",
        },
        {
            **plain,
            "index": 5,
            "image": "1",
            "question": "How many balls are there in all?",
            "A": "3",
            "B": "4",
            "answer": "A",
            "question_type": "free_form",
            "category": "counting",
            "l2-category": "math",
        },
    ]


def mmmu() -> list[Row]:
    """Questions with options and an open one, of both splits."""
    plain = {
        "hint": "",
        "C": "",
        "D": "",
        "split": "validation",
        "l2-category": "Science",
    }
    return [
        {
            **plain,
            "index": 1,
            "image": THREE,
            "question": "How many balls does <image 1> show?",
            "A": "two",
            "B": "three",
            "C": "four",
            "answer": "B",
            "category": "Math",
        },
        {
            **plain,
            "index": 2,
            "image": str([BALL, BOX]),
            "question": "Does <image 1> or <image 2> show a box?",
            "A": "the first",
            "B": "the second",
            "answer": "B",
            "category": "Art",
        },
        {
            **plain,
            "index": 3,
            "image": BARS,
            "question": "What is the sum of the bars in <image 1>?",
            "A": "",
            "B": "",
            "answer": "['50', 'fifty']",
            "category": "Math",
        },
        {
            **plain,
            "index": 4,
            "image": BALL,
            "question": "What colour is the ball in <image 1>?",
            "A": "red",
            "B": "blue",
            "answer": "A",
            "category": "Art",
            "split": "dev",
        },
    ]


def mathvista() -> list[Row]:
    """Every kind of answer; options in the text, as published, and in columns."""
    plain = {
        "choices": "",
        "answer_option": "",
        "question_type": "free_form",
        "answer_type": "text",
        "precision": "",
        "task": "figure question answering",
        "A": "",
        "B": "",
        "split": "testmini",
    }
    return [
        {
            **plain,
            "index": 1,
            "image": BARS,
            "choices": "['left', 'right']",
            "answer": "right",
            "answer_option": "B",
            "question_type": "multi_choice",
            "question": "Hint: Give the letter of the right option at the end.\n"
            "Question: Which bar is higher?\nChoices:\n"
            "(A) left\n(B) right",
        },
        {
            **plain,
            "index": 2,
            "image": BALL,
            "question": "What colour is the ball?",
            "A": "red",
            "B": "blue",
            "answer": "A",
            "question_type": "multi_choice",
        },
        {
            **plain,
            "index": 3,
            "image": THREE,
            "question": "How many balls are there?",
            "answer": "3",
            "answer_type": "integer",
        },
        {
            **plain,
            "index": 4,
            "image": BILL,
            "question": "What is the total?",
            "answer": "12.5",
            "answer_type": "float",
            "precision": "1.0",
        },
        {
            **plain,
            "index": 5,
            "image": BARS,
            "question": "What do the bars say, from left to right?",
            "answer": "[20, 30]",
            "answer_type": "list",
        },
    ]


def yes_no() -> list[Row]:
    """Pairs of questions about one image; the second of a pair has its image by the index of the first."""
    asked = "Please answer yes or no."
    rows = [
        (BOTH, "both.png", f"Is there a ball? {asked}", "Yes", "existence"),
        ("0", "both.png", f"Is there a tree? {asked}", "No", "existence"),
        (THREE, "three.png", f"Are there three balls? {asked}", "Yes", "count"),
        ("2", "three.png", f"Are there two balls? {asked}", "No", "count"),
        (
            BILL,
            "bill.png",
            f"Is 12 plus 8 the total? {asked}",
            "No",
            "numerical_calculation",
        ),
        (
            "4",
            "bill.png",
            f"Is the total 12.50? {asked}",
            "Yes",
            "numerical_calculation",
        ),
    ]
    return [
        {
            "index": place,
            "image": image,
            "image_path": path,
            "question": question,
            "answer": answer,
            "category": category,
            "l2-category": "chart",
            "set_id": place // 4,
            "figure_id": place // 2,
            "question_id": place % 2,
        }
        for place, (image, path, question, answer, category) in enumerate(rows)
    ]


def memes() -> list[Row]:
    """Images with words on them; nobody is hated here, the labels only show the format."""
    rows = [
        (BALL, "look who bounced back", 0),
        (BOX, "nobody likes a box", 1),
        (BOTH, "round ones go home", 1),
        (WORD, "good morning", 0),
    ]
    return [
        {
            "id": 100 + place,
            "img": f"img/{100 + place:05}.png",
            "label": label,
            "text": text,
            "image": picture,
        }
        for place, (picture, text, label) in enumerate(rows)
    ]


def pope() -> list[Row]:
    """Objects that are there and objects that are not; one question counts under two headings."""
    rows = [
        (BOTH, "both.png", "ball", "Yes", "random,popular"),
        ("0", "both.png", "tree", "No", "popular"),
        (THREE, "three.png", "box", "No", "adversarial"),
    ]
    return [
        {
            "index": place,
            "image": image,
            "image_path": path,
            "question": f"Is there a {thing} in the image?",
            "answer": answer,
            "category": category,
            "id": place + 1,
        }
        for place, (image, path, thing, answer, category) in enumerate(rows)
    ]


def short_answers() -> list[Row]:
    """Ten annotators each."""
    return [
        {
            "index": 1,
            "image": BALL,
            "image_path": "ball.png",
            "question": "What colour is the ball?",
            "answer": str(["red"] * 8 + ["dark red"] * 2),
            "question_id": 101,
            "question_type": "what color",
            "answer_type": "other",
        },
        {
            "index": 2,
            "image": THREE,
            "image_path": "three.png",
            "question": "How many balls are there?",
            "answer": str(["3"] * 9 + ["4"]),
            "question_id": 102,
            "question_type": "how many",
            "answer_type": "number",
        },
        {
            "index": 3,
            "image": "1",
            "image_path": "ball.png",
            "question": "Is this a ball?",
            "answer": str(["yes"] * 10),
            "question_id": 103,
            "question_type": "is this",
            "answer_type": "yes/no",
        },
    ]


def chartqa() -> list[Row]:
    """Two bars, with the parts of the test set."""
    bars = {"image": BARS, "image_path": "bars.png"}
    asked = [
        ("What is the value of the red bar?", "30", "test_human"),
        ("What is the value of the blue bar?", "20", "test_augmented"),
        ("Which colour has the higher bar?", "red", "test_human"),
        ("What is the sum of both bars?", "50", "test_human"),
    ]
    return [
        {"index": place, **bars, "question": question, "answer": answer, "split": split}
        for place, (question, answer, split) in enumerate(asked, 1)
    ]


def docvqa() -> list[Row]:
    """Return a bill and a word, where any answer of a list is right."""
    return [
        {
            "index": 1,
            "image": BILL,
            "image_path": "bill.png",
            "question": "What is the total?",
            "answer": "['12.50', '$12.50']",
        },
        {
            "index": 2,
            "image": "1",
            "image_path": "bill.png",
            "question": "Which word stands before the amount?",
            "answer": "['TOTAL']",
        },
        {
            "index": 3,
            "image": WORD,
            "image_path": "word.png",
            "question": "What is written in the picture?",
            "answer": "['HELLO']",
        },
    ]


def infovqa() -> list[Row]:
    """Return a chart, asked like an infographic."""
    return [
        {
            "index": 1,
            "image": BARS,
            "image_path": "bars.png",
            "question": "What is the value of the red bar?",
            "answer": "['30']",
        },
        {
            "index": 2,
            "image": "1",
            "image_path": "bars.png",
            "question": "How many bars are there?",
            "answer": "['2', 'two']",
        },
    ]


def ocrbench() -> list[Row]:
    """Return a chart, a bill, a word and a formula, each with its kind of question."""
    formula = "Handwritten Mathematical Expression Recognition"
    return [
        {
            "index": 1,
            "image": BARS,
            "image_path": "bars.png",
            "question": "What is the value of the red bar?",
            "answer": "30",
            "category": "Doc-oriented VQA",
        },
        {
            "index": 2,
            "image": BILL,
            "image_path": "bill.png",
            "question": "What is the total?",
            "answer": "['12.50', '$12.50']",
            "category": "Key Information Extraction",
        },
        {
            "index": 3,
            "image": WORD,
            "image_path": "word.png",
            "question": "What is written in the picture?",
            "answer": "['HELLO']",
            "category": "Regular Text Recognition",
        },
        {
            "index": 4,
            "image": drawn(text="a + b = c"),
            "image_path": "sum.png",
            "question": "Write the formula.",
            "answer": "['a+b=c']",
            "category": formula,
        },
    ]


def captions() -> list[Row]:
    """Two references to an image."""
    return [
        {
            "index": 1,
            "image": BALL,
            "image_path": "ball.png",
            "question": "",
            "answer": str(["a red ball on white ground", "one red ball"]),
        },
        {
            "index": 2,
            "image": BOTH,
            "image_path": "both.png",
            "question": "",
            "answer": str(["a red ball beside a blue box", "a ball and a box"]),
        },
        {
            "index": 3,
            "image": THREE,
            "image_path": "three.png",
            "question": "Describe the picture briefly.",
            "answer": str(["three green balls in a row", "a row of green balls"]),
        },
    ]


def refcoco() -> list[Row]:
    """Boxes of the shapes as they were drawn."""
    size = {"width": SIZE[0], "height": SIZE[1], "split": "val"}
    return [
        {
            "index": 1,
            "image": BOTH,
            "image_path": "both.png",
            "question": "the ball",
            "bbox": "[4, 8, 20, 20]",
            **size,
        },
        {
            "index": 2,
            "image": "1",
            "image_path": "both.png",
            "question": "the box on the right",
            "bbox": "[36, 8, 24, 20]",
            **size,
        },
        {
            "index": 3,
            "image": THREE,
            "image_path": "three.png",
            "question": "the ball in the middle",
            "bbox": "[24, 10, 12, 12]",
            **size,
        },
    ]


def judged() -> list[Row]:
    """Return references with parts and alternatives, and one question about two images."""
    return [
        {
            "index": 1,
            "image": BILL,
            "image_path": "",
            "question": "What is the total?",
            "answer": "12.50",
            "category": "ocr",
            "complexity": "Moderate",
        },
        {
            "index": 2,
            "image": BOTH,
            "image_path": "",
            "question": "Which things are there?",
            "answer": "ball<AND>box<OR>cube",
            "category": "rec,spat",
            "complexity": "High",
        },
        {
            "index": 3,
            "image": str([BALL, BOX]),
            "image_path": "['ball.png', 'box.png']",
            "question": "In what do the pictures differ?",
            "answer": "shape<AND>colour",
            "category": "rec,gen",
            "complexity": "High",
        },
    ]


SETS = (
    circular,
    choices,
    mmmu,
    mathvista,
    yes_no,
    memes,
    pope,
    short_answers,
    chartqa,
    docvqa,
    infovqa,
    ocrbench,
    captions,
    refcoco,
    judged,
)


def write(rows: Sequence[Row], path: Path) -> None:
    """Write a TSV as data frames do."""
    with path.open("w", encoding="utf-8", newline="") as file:
        names = dict.fromkeys(["index", "image", *rows[0]])
        table = csv.DictWriter(file, list(names), delimiter="\t", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def main(folder: Path = FOLDER) -> None:
    """Write all sets."""
    folder.mkdir(parents=True, exist_ok=True)
    for made in SETS:
        write(made(), folder / f"{made.__name__}.tsv")


if __name__ == "__main__":
    main()
