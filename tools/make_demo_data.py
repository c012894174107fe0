"""Makes the clips and images of the demo's sets: own sentences, spoken by free synthesisers, and drawn by Pillow.

    python tools/make_demo_data.py            # needs Debian's flite, and pip install espeakng-loader

What the programs make belongs to whoever wrote the text: sentences, clips and images are CC0. The same versions of
flite, espeak-ng and Pillow make the same bytes.
"""

import io
import json
from pathlib import Path

import numpy as np
import soundfile
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from assay.core import Audio, Message, Output, Prompt, Request
from assay.media import decode_audio
from assay.models.specialists.voices import Espeak, Flite

FOLDER = Path(__file__).parent.parent / "src" / "assay" / "benchmarks" / "data" / "demo"
RATE = 16_000
LARGEST = 60_000

CLIPS = (
    ("slt", "The train to the coast leaves early."),
    ("rms", "Please water the green plants."),
    ("awb", "My brother bought a wooden boat."),
    ("kal16", "She found the old map in a drawer."),
    ("slt", "We walked home through the cold rain."),
    ("rms", "The baker opens before sunrise."),
    ("awb", "A small bird sang in the garden."),
    ("kal16", "They painted the kitchen door yellow."),
    ("en-us", "The children played by the river."),
    ("en-us+f3", "Nobody knew where the key was."),
)
IMAGES = (
    ("plain", "PLATFORM 9"),
    ("plain", "Fresh bread daily"),
    ("small", "No entry after 18:30"),
    ("small", "Invoice 48213"),
    ("blurred", "River Street 27"),
    ("blurred", "Gate closes soon"),
    ("turned", "WET PAINT"),
    ("turned", "Room 3.14"),
    ("pale", "Library hours"),
    ("pale", "Ticket B7-0042"),
    ("noisy", "Mind the step"),
    ("noisy", "Total 86.50"),
)


def spoken(voice: str, text: str) -> Audio:
    """One sentence by one of the voices."""
    model = Espeak(voice=voice) if voice.startswith("en") else Flite(voice=voice)
    [output] = model.generate([Request(Prompt((Message.of("user", text),)))])
    assert isinstance(output, Output) and output.error is None, output.error
    speech = output.media[0]
    assert isinstance(speech, Audio)
    return speech


def clip(speech: Audio) -> bytes:
    """Return the sound as 16 kHz, 16-bit FLAC."""
    sound = decode_audio(speech, rate=RATE, channels=1)
    buffer = io.BytesIO()
    soundfile.write(
        buffer, np.clip(sound.samples, -1, 1), RATE, format="FLAC", subtype="PCM_16"
    )
    return buffer.getvalue()


def drawn(style: str, text: str, seed: int) -> Image.Image:
    """Return the text as an image, made harder to read in one of six ways."""
    size = 14 if style == "small" else 30
    font = ImageFont.load_default(size=size)
    _, _, right, bottom = font.getbbox(text)
    picture = Image.new("L", (int(right) + 60, int(bottom) + 60), 255)
    ImageDraw.Draw(picture).text(
        (30, 30), text, fill=205 if style == "pale" else 0, font=font
    )
    if style == "turned":
        picture = picture.rotate(
            9, expand=True, fillcolor=255, resample=Image.Resampling.BICUBIC
        )
    if style == "blurred":
        picture = picture.filter(ImageFilter.GaussianBlur(2.6))
    if style == "noisy":
        noise = np.random.default_rng(seed).normal(
            0, 70, (picture.height, picture.width)
        )
        picture = Image.fromarray(
            np.clip(np.asarray(picture) * 0.6 + 50 + noise, 0, 255).astype(np.uint8)
        )
    return picture


def main() -> None:
    """Write the media and the rows that name them."""
    for name in ("clips", "pictures"):
        (FOLDER / name).mkdir(parents=True, exist_ok=True)
    rows = []
    for number, (voice, text) in enumerate(CLIPS, 1):
        data = clip(spoken(voice, text))
        assert len(data) <= LARGEST, f"{text}: {len(data)} bytes"
        (FOLDER / "clips" / f"{number:02}.flac").write_bytes(data)
        rows.append(
            {
                "id": f"clip-{number:02}",
                "audio": f"clips/{number:02}.flac",
                "target": text,
                "voice": voice,
            }
        )
    write("asr", rows)
    rows = []
    for number, (style, text) in enumerate(IMAGES, 1):
        drawn(style, text, number).save(
            FOLDER / "pictures" / f"{number:02}.png", optimize=True
        )
        path = f"pictures/{number:02}.png"
        rows.append(
            {
                "id": f"picture-{number:02}",
                "image": path,
                "target": text,
                "style": style,
            }
        )
    write("ocr", rows)


def write(name: str, rows: list[dict[str, str]]) -> None:
    """Rows as JSON lines."""
    (FOLDER / f"{name}.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), "utf-8"
    )


if __name__ == "__main__":
    main()
