"""Makes the mini-sets of the speech and the image-generation families: a few rows each, tones and drawn pictures.

Run `python tools/make_sound_and_drawing_minisets.py` from the repository; sounds and rows are the same bytes each time,
images are under the same Pillow. Texts, sounds and images are our own, CC0. A tone stands where speech would:
scripted models know it by its bytes.
"""

import base64
import io
import json
import math
import random
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

DATA = Path(__file__).parent.parent / "src" / "assay" / "benchmarks" / "data"
RATE = 16_000
SECONDS = 0.25
AUDIO_COLUMNS = 8
Row = dict[str, Any]


def tone(number: int) -> bytes:
    """Return a quarter of a second of a tone with a little noise, fading in and out, as a 16-bit WAV."""
    noise = random.Random(number)
    count = int(RATE * SECONDS)
    pitch = 220.0 * 2 ** (number / 6)
    samples = []
    for at in range(count):
        fade = math.sin(math.pi * at / count)
        value = 0.5 * math.sin(2 * math.pi * pitch * at / RATE) + 0.02 * noise.uniform(
            -1, 1
        )
        samples.append(round(32_000 * fade * value))
    data = struct.pack(f"<{count}h", *samples)
    head = (
        b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, RATE, RATE * 2, 2, 16) + b"data"
    )
    return (
        b"RIFF"
        + struct.pack("<I", len(head) + 4 + len(data))
        + head
        + struct.pack("<I", len(data))
        + data
    )


def spoken(rows: Sequence[Row], start: int = 0) -> list[Row]:
    """Rows with a key and a sound each."""
    made = [
        {"key": f"s{n + 1}", "audio": f"sounds/tone{(start + n) % AUDIO_COLUMNS}.wav"}
        for n in range(len(rows))
    ]
    return [{**sound, **row} for sound, row in zip(made, rows, strict=True)]


def both(*items: Any) -> Row:
    """Parts that are all wanted."""
    return {"__tuple__": True, "items": list(items)}


def noisy(rows: Sequence[Row]) -> list[Row]:
    """Each row under two families of noise at two levels."""
    conditions = [
        ("babble", "0 dB"),
        ("babble", "10 dB"),
        ("echo", "large room"),
        ("echo", "small room"),
    ]
    made = []
    for number, row in enumerate(rows):
        for place, (family, level) in enumerate(conditions):
            sound = (
                f"sounds/tone{(number * len(conditions) + place) % AUDIO_COLUMNS}.wav"
            )
            made.append(
                {
                    "key": f"r{number}-{place}",
                    "audio": sound,
                    **row,
                    "family": family,
                    "level": level,
                    "source": f"r{number}",
                }
            )
    return made


SPEECH: dict[str, list[Row]] = {
    "recognition_en": spoken([
        {"ref": "the kettle is on the stove"},
        {"ref": "Mr. Brown paid twenty dollars"},
        {"ref": "we don't know when it rains"},
    ]),
    "recognition_zh": spoken([{"ref": "今天天气很好"}, {"ref": "他买了三本书"}, {"ref": "火车晚点了"}]),
    "translation_zh": spoken([
        {"query": "The kettle is on the stove and it sings.", "ref": "水壶在炉子上,它在唱歌。"},
        {"query": "We will walk home after the rain.", "ref": "雨停之后我们走回家。"},
        {"query": "My sister reads two books a week.", "ref": "我妹妹每周读两本书。"},
    ]),
    "translation_de": spoken([
        {"query": "The kettle is on the stove.", "ref": "Der Kessel steht auf dem Herd."},
        {"query": "We walk home after the rain.", "ref": "Wir gehen nach dem Regen zu Fuß nach Hause."},
        {"query": "My sister reads two books.", "ref": "Meine Schwester liest zwei Bücher."},
    ]),
    "spoken_qa": spoken([
        {"query": "Which planet is the largest?", "ref": ["Jupiter", "the planet Jupiter"]},
        {"query": "Which two colours make green?", "ref": both(["blue", "azure"], "yellow")},
        {"query": "How many legs has a spider?", "ref": ["8", "eight"]},
        {"query": "What falls from clouds?", "ref": "rain"},
    ]),
    "single_choice_zh": spoken([
        {"query": "下列哪个是水果?", "A": "苹果", "B": "石头", "C": "铁", "D": "玻璃", "answer": "A",
         "subject": "常识"},
        {"query": "下列说法错误的是哪一项?", "A": "水能结冰", "B": "太阳从西边升起", "C": "鱼会游泳", "D": "鸟有羽毛",
         "answer": "B", "subject": "常识"},
        {"query": "二加三等于几?", "A": "四", "B": "六", "C": "五", "D": "七", "answer": "C", "subject": "数学"},
    ]),
    "sound_choices": [
        {"id": row["key"], **{name: cell for name, cell in row.items() if name != "key"}}
        for row in spoken([
            {"question": "Is the tone low or high?", "choices": ["low", "high"], "answer": "low", "task": "sound",
             "difficulty": "easy"},
            {"question": "What kind of sound is it?", "choices": ["a bark", "a tone", "a door"], "answer": "a tone",
             "task": "sound", "difficulty": "medium"},
            {"question": "How many tones are heard?", "choices": ["three", "two", "one"], "answer": "one",
             "task": "music", "difficulty": "easy"},
        ])
    ],
    "voicebench_choices": spoken([
        {"prompt": "What melts in the sun? A. stone B. ice C. iron D. glass", "reference": "B", "domain": "physics"},
        {"prompt": "Which one flies? A. a wren B. a carp C. a mole D. a newt", "reference": "A", "domain": "biology"},
        {"prompt": "What is six minus two? A. two B. three C. five D. four", "reference": "D", "domain": "math"},
    ]),
    "voicebench_open": spoken([
        {"prompt": "How do I keep basil fresh?", "reference": "In a glass of water, out of the sun."},
        {"prompt": "Who wrote the letter?", "reference": "Nobody knows."},
        {"prompt": "When is low tide here?", "reference": "At noon."},
    ]),
    "judged_replies": spoken([
        {"query": "I lost my keys again.", "emotion": "sad"},
        {"query": "We won the match!", "emotion": "happy"},
        {"query": "Nobody called me back.", "emotion": "angry"},
    ]),
    "memory": [
        {"key": f"d{number + 1}", "user_audio1": f"sounds/tone{2 * number}.wav", "user_text1": first,
         "bot_text1": "I see.", "user_audio2": f"sounds/tone{2 * number + 1}.wav", "user_text2": second,
         "answer": answer}
        for number, (first, second, answer) in enumerate([
            ("My cat is called Momo.", "What is my cat called?", ["Momo"]),
            ("I bought bread and milk.", "What did I buy?", both("bread", "milk")),
            ("The train leaves at nine.", "When does it leave?", ["nine", "9"]),
        ])
    ],
    "spoken_answers": spoken([
        {"query": "Tell me about the sea."},
        {"query": "Why is the sky blue?"},
        {"query": "What is a good breakfast?"},
    ]),
    "voices": spoken([
        {"prompt_text": "the kettle is on the stove", "query": "We walk home after the rain.", "speaker": "one"},
        {"prompt_text": "it is late", "query": "My sister reads two books.", "speaker": "two"},
        {"prompt_text": "they sail at noon", "query": "The sea is calm today.", "speaker": "one"},
    ]),
    "robustness": noisy([
        {"query": "What is two plus two?", "ref": ["four", "4"]},
        {"query": "What falls from clouds?", "ref": ["rain"]},
    ]),
    "robustness_asr": noisy([{"ref": "the kettle is on the stove"}, {"ref": "we walk home after the rain"}]),
}  # fmt: skip


def drawn(shape: str, colour: str, text: str = "") -> str:
    """Return a small image as base64 of a PNG."""
    picture = Image.new("RGB", (64, 48), "white")
    pencil = ImageDraw.Draw(picture)
    if shape:
        (pencil.ellipse if shape == "ball" else pencil.rectangle)(
            (20, 8, 44, 32), fill=colour
        )
    if text:
        pencil.text((4, 34), text, fill="black")
    kept = io.BytesIO()
    picture.quantize(8).save(kept, "PNG", optimize=True)
    return base64.b64encode(kept.getvalue()).decode()


GENEVAL: list[Row] = [
    {"tag": "single_object", "include": [{"class": "clock", "count": 1}], "prompt": "a photo of a clock"},
    {"tag": "counting", "include": [{"class": "cup", "count": 2}], "exclude": [{"class": "cup", "count": 3}],
     "prompt": "a photo of two cups"},
    {"tag": "colors", "include": [{"class": "car", "count": 1, "color": "red"}], "prompt": "a photo of a red car"},
    {"tag": "position", "include": [{"class": "cat", "count": 1},
     {"class": "dog", "count": 1, "position": ["right of", 0]}], "prompt": "a photo of a dog right of a cat"},
]  # fmt: skip
FOUND: list[Row] = [
    {"clock": [[10, 10, 40, 40, 0.95]]},
    {"cup": [[0, 10, 20, 40, 0.97], [30, 10, 50, 40, 0.96]]},
    {"car": [{"box": [5, 5, 60, 40], "score": 0.9, "color": "red"}]},
    {"cat": [[0, 10, 20, 40, 0.9]], "dog": [[40, 10, 60, 40, 0.9]]},
]


def propositions(*questions: tuple[str, str, str]) -> list[Row]:
    """Propositions that are numbered from 1: parent, category, question."""
    return [
        {
            "proposition_id": number,
            "dependency": parent,
            "category_broad": broad,
            "category_detailed": broad,
            "question_natural_language": question,
        }
        for number, (parent, broad, question) in enumerate(questions, start=1)
    ]


DPG: list[Row] = [
    {"index": "1", "prompt": "A red ball lies on a wooden table.", "questions": propositions(
        ("0", "entity", "Is there a ball?"), ("1", "attribute", "Is the ball red?"),
        ("0", "entity", "Is there a table?"), ("1,3", "relation", "Does the ball lie on the table?"))},
    {"index": "2", "prompt": "Two blue boxes under a lamp.", "questions": propositions(
        ("0", "entity", "Are there boxes?"), ("1", "other", "Are there two boxes?"),
        ("1", "attribute", "Are the boxes blue?"))},
    {"index": "3", "prompt": "A small boat at sea.", "questions": propositions(("0", "entity", "Is there a boat?"))},
]  # fmt: skip
IMAGES: dict[str, list[Row]] = {
    "geneval": GENEVAL,
    "geneval_saved": [{**row, "detections": found} for row, found in zip(GENEVAL, FOUND, strict=True)],
    "dpg": DPG,
    "dpg_saved": [
        {**row, "answers": {str(one["proposition_id"]): "yes" for one in row["questions"]}} for row in DPG
    ],
    "wise": [
        {"prompt_id": 1, "Prompt": "The cake people bring to a birthday in many countries",
         "Explanation": "A cake with candles.", "Category": "Cultural knowledge"},
        {"prompt_id": 401, "Prompt": "A maple in its coldest season", "Explanation": "Bare branches, snow.",
         "Category": "time"},
        {"prompt_id": 568, "Prompt": "The shore side of a lighthouse", "Explanation": "Land around it.",
         "Category": "space"},
        {"prompt_id": 701, "Prompt": "A chick before it hatches", "Explanation": "An egg.", "Category": "biology"},
        {"prompt_id": 801, "Prompt": "A spoon in a glass of water", "Explanation": "It looks broken.",
         "Category": "physics"},
        {"prompt_id": 901, "Prompt": "An old iron nail after rain", "Explanation": "Rust.", "Category": "chemistry"},
    ],
    "prompts": [
        {"index": "1", "prompt": "a red ball and a blue box", "category": "color", "type": "COLOR",
         "tag": "color_attr"},
        {"index": "2", "prompt": "a cup on the left of a clock", "category": "spatial", "type": "TIME",
         "tag": "spatial"},
        {"index": "3", "prompt": "a wooden spoon and a glass bowl", "category": "texture", "type": "MATERIAL",
         "tag": "color_attr"},
        {"index": "4", "prompt": "a girl feeds a goat", "category": "non_spatial", "type": "Multi-Object",
         "tag": "action"},
        {"index": "5", "prompt": "The red cup is on the top of the brown clock.", "category": "complex",
         "relation": "spatial", "objects": ["cup", "clock"], "type": "SHAPE", "tag": "color_attr"},
    ],
    "edits": [{**row, "prompt": row["instruction"]} for row in [
        {"index": "1", "image": drawn("ball", "red"), "instruction": "Make the ball blue.", "category": "color",
         "target_image": drawn("ball", "blue")},
        {"index": "2", "image": drawn("box", "green"), "instruction": "Turn the box into a ball.", "category": "shape",
         "target_image": drawn("ball", "green")},
        {"index": "3", "image": drawn("box", "green"), "instruction": "Write HELLO below.", "category": "text",
         "target_image": drawn("box", "green", "HELLO")},
    ]],
    "gedit": [
        {"key": "1", "input_image": drawn("ball", "red"), "instruction": "Make the ball blue.",
         "instruction_language": "en", "task_type": "color_alter"},
        {"key": "2", "input_image": drawn("box", "green"), "instruction": "Make the box red.",
         "instruction_language": "en", "task_type": "color_alter"},
        {"key": "3", "input_image": drawn("box", "green"), "instruction": "Write HELLO below.",
         "instruction_language": "en", "task_type": "text_change"},
        {"key": "4", "input_image": drawn("ball", "red"), "instruction": "把球变成蓝色。",
         "instruction_language": "cn", "task_type": "color_alter"},
    ],
    "subjects": [
        {"index": "1", "images": [drawn("ball", "red"), drawn("box", "blue")], "instruction": "Put both on a table.",
         "category": "multiple"},
        {"index": "2", "images": [drawn("ball", "green")], "instruction": "Show it at the beach.",
         "category": "single"},
        {"index": "3", "images": [drawn("box", "red")], "instruction": "Show it in a forest.", "category": "single"},
        {"index": "4", "images": [drawn("box", "green"), drawn("ball", "blue")], "instruction": "Put both on a shelf.",
         "category": "multiple"},
        {"index": "5", "images": [drawn("ball", "blue")], "instruction": "Show it in the snow.", "category": "single"},
    ],
    "rendering": [
        {"index": "1", "prompt": "A sign that says OPEN DAILY", "text": "OPEN DAILY"},
        {"index": "2", "prompt": "A ticket with the number 42", "text": "42"},
        {"index": "3", "prompt": "A poster with two lines: FRESH BREAD / EVERY DAY", "text": "FRESH BREAD\nEVERY DAY"},
    ],
}  # fmt: skip


def write(rows: Sequence[Row], path: Path) -> None:
    """JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows),
        encoding="utf-8",
    )


def main(folder: Path = DATA) -> None:
    """Write all sets."""
    (folder / "speech" / "sounds").mkdir(parents=True, exist_ok=True)
    for number in range(AUDIO_COLUMNS):
        (folder / "speech" / "sounds" / f"tone{number}.wav").write_bytes(tone(number))
    for name, rows in SPEECH.items():
        write(rows, folder / "speech" / f"{name}.jsonl")
    for name, rows in IMAGES.items():
        write(rows, folder / "image" / f"{name}.jsonl")


if __name__ == "__main__":
    main()
