"""The tables that cases read: small ones of our own with the columns of VLMEvalKit's benchmarks."""

# ruff: noqa: SIM112 - LMUData is the guest's own spelling

import base64
import io
from pathlib import Path
from typing import Any

from PIL import Image


def picture(
    colour: Any, mode: str = "RGB", size: tuple[int, int] = (24, 16), fmt: str = "PNG"
) -> str:
    """A picture of one colour as base64."""
    buffer = io.BytesIO()
    Image.new(mode, size, colour).save(buffer, fmt)
    return base64.b64encode(buffer.getvalue()).decode()


def write(name: str, columns: str, rows: list[list[Any]]) -> Path:
    """`$LMUData/<name>.tsv`."""
    import os

    path = Path(os.environ["LMUData"]) / f"{name}.tsv"
    lines = [
        "\t".join(columns.split()),
        *("\t".join("" if c is None else str(c) for c in row) for row in rows),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def rotated(
    name: str = "MMBench_DEV_EN", split: bool = False, hint: bool = True
) -> Path:
    """Three questions under their rotations: four options, two options, three options with numbers."""
    columns = "index image question hint A B C D answer category l2-category" + (
        " split" if split else ""
    )
    asked: list[list[Any]] = [
        [
            "What is it?",
            "look",
            ["cat", "dog", "bird", "fish"],
            1,
            "recognition",
            "coarse_perception",
        ],
        ["Is it red?", None, ["yes", "no"], 0, "attribute", "attribute_reasoning"],
        [
            "How many?",
            "count them",
            ["1", "2", "3"],
            2,
            "counting",
            "finegrained_perception (instance-level)",
        ],
    ]
    rows: list[list[Any]] = []
    for number, (question, words, options, right, category, above) in enumerate(asked):
        for turn in range(len(options)):
            turned = options[-turn:] + options[:-turn] if turn else options
            letter = "ABCD"[turned.index(options[right])]
            cell = picture((40 * number, 9, 9)) if turn == 0 else str(number)
            cells = [*turned, *[None] * (4 - len(turned))]
            own = [
                number + turn * 1_000_000,
                cell,
                question,
                words if hint else None,
                *cells,
                letter,
                category,
                above,
            ]
            rows.append([*own, ("dev", "test", "dev")[number]] if split else own)
    return write(name, columns, rows)


def plain_choice(name: str = "SEEDBench_IMG", options: int = 4, **more: Any) -> Path:
    """Five questions of several options, without rotations."""
    letters = "ABCDEFGH"[:options]
    words = ["cat", "dog", "bird", "fish", "horse", "mouse", "cow", "bee"]
    columns = (
        "index image question "
        + " ".join(letters)
        + " answer category"
        + "".join(f" {key}" for key in more)
    )
    rows = [
        [
            n,
            picture((30 * n, 0, 0)),
            f"Question {n}?",
            *words[:options],
            letters[n % options],
            f"c{n % 2}",
            *(values[n % len(values)] for values in more.values()),
        ]
        for n in range(5)
    ]
    return write(name, columns, rows)


MME_CATEGORIES = (
    "OCR",
    "artwork",
    "celebrity",
    "color",
    "count",
    "existence",
    "landmark",
    "position",
    "posters",
    "scene",
    "code_reasoning",
    "commonsense_reasoning",
    "numerical_calculation",
    "text_translation",
)


def mme(filler: str | None = "x", categories: tuple[str, ...] = MME_CATEGORIES) -> Path:
    """Two pictures with two questions each in every category; the second question's cell holds a filler."""
    rows: list[list[Any]] = []
    for place, category in enumerate(categories):
        for number in range(2):
            index = 4 * place + 2 * number
            path = f"{category}_{number}.jpg"
            rows.append(
                [
                    index,
                    picture((place, number, 7)),
                    path,
                    "Is there a cat?",
                    "Yes",
                    category,
                ]
            )
            rows.append(
                [
                    index + 1,
                    index if filler == "reference" else filler,
                    path,
                    "Is there a dog?",
                    "No",
                    category,
                ]
            )
    return write("MME", "index image image_path question answer category", rows)


def mmvet() -> Path:
    """Grades by capabilities, alone and together."""
    asked = [
        ("rec", "a"),
        ("ocr,math", "1<AND>2"),
        ("rec,know,gen", "x<OR>y"),
        ("spat", "b"),
        ("ocr,math", "3"),
    ]
    rows = [
        [n, picture((n, n, 0)), f"Question {n}?", answer, category]
        for n, (category, answer) in enumerate(asked)
    ]
    return write("MMVet", "index image question answer category", rows)


def core_mm() -> Path:
    """Lists of pictures: of one and of two."""
    rows = [
        [0, [picture((1, 1, 1))], ["a.jpg"], "One picture?", "x", "c"],
        [
            1,
            [picture((2, 2, 2)), picture((3, 3, 3))],
            ["b.jpg", "sub_c.jpg"],
            "Two pictures?",
            "y",
            "c",
        ],
    ]
    return write("CORE_MM", "index image image_path question answer category", rows)


def by_split(frame: Any) -> Any:
    """Upstream's rows come from a set: their order says nothing."""
    return frame.sort_values(
        by="split", key=lambda column: column.map(str)
    ).reset_index(drop=True)
