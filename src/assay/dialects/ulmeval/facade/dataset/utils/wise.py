"""`ulmeval.dataset.utils.wise`: three ratings from 0 to 2, their weighted sum, and means by discipline."""

import base64
import io
import re
from collections.abc import Mapping
from typing import Any

from ......datasets.list_literals import looks_like_list, parse_list
from .....kits.rules import as_upstream
from ...smp.file import load

STANDS_IN = True
__all__ = [
    "WISE_DIMENSIONS",
    "calculate_wiscore",
    "encode_image_to_base64",
    "get_dimension_rating",
    "parse_score_dict",
    "prepare_response_prompt",
    "prepare_score_prompt",
]

WISE_DIMENSIONS = {
    **{
        name: [name]
        for name in ("CULTURE", "TIME", "SPACE", "BIOLOGY", "PHYSICS", "CHEMISTRY")
    },
    "overall": [],
}
SHARES = {
    "CULTURE": 0.4,
    "TIME": 0.167,
    "SPACE": 0.133,
    "BIOLOGY": 0.1,
    "PHYSICS": 0.1,
    "CHEMISTRY": 0.1,
}
_RATINGS = (
    re.compile(r"Consistency\s*:\s*([0-2])", re.IGNORECASE),
    re.compile(r"Realism\s*:\s*([0-2])", re.IGNORECASE),
    re.compile(r"(?:Aesthetic\s*Quality|Aesthetic)\s*:\s*([0-2])", re.IGNORECASE),
)
_DIGIT = re.compile(r"(?<!\d)[0-2](?!\d)")
NAMES = ("consistency", "realism", "aesthetic_quality")
RULES = (
    "Rate a generated image on three scales of 0, 1 and 2. Consistency: does it show all that the prompt implies, as "
    "the explanation says? Realism: does it obey the laws of the world it shows? Aesthetic Quality: is it well made? "
    "Be strict: 2 is rare. Reply with exactly three lines:\nConsistency: <0|1|2>\nRealism: <0|1|2>\n"
    "Aesthetic Quality: <0|1|2>"
)


def encode_image_to_base64(img_pil: Any, max_side: int = 320, quality: int = 60) -> str:
    """An image as a small JPEG in base64."""
    from PIL import Image

    image = (
        img_pil if isinstance(img_pil, Image.Image) else Image.open(io.BytesIO(img_pil))
    ).convert("RGB")
    scale = max_side / max(image.size)
    if scale < 1.0:
        image = image.resize(
            (int(image.width * scale), int(image.height * scale)),
            Image.Resampling.LANCZOS,
        )
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG", quality=quality, optimize=True)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def prepare_response_prompt(item: Mapping[str, Any]) -> str:
    """What a model is asked to draw."""
    return f"Draw an image for this description, and give nothing but the image:\n{item['prompt']}"


def prepare_score_prompt(item: Any) -> list[Any]:
    """What the judge is asked of each image, in our words.

    Upstream pastes the image into the text, where no judge can see it: its rule gives a text, ours a message.
    """
    row = dict(item)
    images = (
        row["prediction"]
        if isinstance(row["prediction"], list)
        else [row["prediction"]]
    )
    text = f'{RULES}\n\nPROMPT: "{row["prompt"]}"\nEXPLANATION: "{row["explanation"]}"'
    if as_upstream():
        return [
            f"{text}\nIMAGE: data:image/png;base64, {encode_image_to_base64(image)}"
            for image in images
        ]
    return [
        [
            {"type": "text", "value": text},
            {
                "type": "image",
                "value": f"data:image/jpeg;base64,{encode_image_to_base64(image)}",
            },
        ]
        for image in images
    ]


def calculate_wiscore(
    consistency: float, realism: float, aesthetic_quality: float
) -> float:
    """The weighted sum of three ratings, from 0 to 1."""
    return (0.7 * consistency + 0.2 * realism + 0.1 * aesthetic_quality) / 2.0


def parse_score_dict(raw: Any) -> tuple[int, int, int] | None:
    """The three ratings of a reply or of a dictionary; `None` where they are not all there, upstream three zeros."""
    nothing = (0, 0, 0) if as_upstream() else None
    if isinstance(raw, Mapping):
        values = [raw.get(name) for name in NAMES]
        return nothing if None in values else tuple(int(value) for value in values)  # type: ignore[return-value, arg-type]
    text = "" if raw is None else str(raw).strip()
    found = [rating.search(text) for rating in _RATINGS]
    if all(found):
        return tuple(int(match[1]) for match in found if match)  # type: ignore[return-value]
    digits = _DIGIT.findall(text)
    return (
        (int(digits[0]), int(digits[1]), int(digits[2]))
        if len(digits) == 3
        else nothing
    )


def get_dimension_rating(mode: Any, data_path: str) -> dict[str, Any]:
    """Means by discipline and of all, rounded to two digits; `mode` adds the total that weighs disciplines."""
    buckets: dict[str, list[float]] = {name: [] for name in WISE_DIMENSIONS}
    data = load(data_path)
    for _, row in data.iterrows():
        ratings = [
            found
            for reply in _replies(row.get("score"))
            if (found := parse_score_dict(reply)) is not None
        ]
        if not ratings:
            continue
        score = calculate_wiscore(
            *(sum(scale) / len(scale) for scale in zip(*ratings, strict=True))
        )
        discipline = str(row.get("discipline", "")).strip().upper()
        for name in (discipline, "overall"):
            if name in buckets:
                buckets[name].append(score)
    means = {name: _mean(scores) for name, scores in buckets.items()}
    if mode:
        means["OVERALL"] = round(
            sum(share * means[name] for name, share in SHARES.items()), 2
        )
    return {"coarse_valid": means}


def _replies(cell: Any) -> list[Any]:
    """The replies to a row's images; a list that went through a spreadsheet is read as one reply by upstream alone."""
    if isinstance(cell, list):
        return cell
    return (
        parse_list(cell, "score")
        if not as_upstream() and looks_like_list(cell)
        else [cell]
    )


def _mean(scores: list[float]) -> float:
    import numpy

    return float(numpy.round(numpy.mean(scores), 2)) if scores else 0.0
