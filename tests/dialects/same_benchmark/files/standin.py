"""What the stand-in answers to a text and the pictures beside it; it writes down each call."""

import json
import os

from PIL import Image

KNOWN = {"France": "Paris", "Venus": "0", "Peru": "Cusco", "dots": "0"}
COLOURS = {(255, 0, 0): "red", (0, 0, 255): "blue"}


def say(text, pictures=()):
    """The answer; `pictures` are paths or open files."""
    colours = [
        COLOURS[Image.open(picture).convert("RGB").getpixel((0, 0))]
        for picture in pictures
    ]
    *before, last = text.split("\n")
    if last.startswith("What did you just say?"):
        answer = before[-1]
    elif last.startswith("What colour"):
        answer = colours[0]
    else:
        answer = next(known for word, known in KNOWN.items() if word in last)
    with open(os.environ["CALL_LOG"], "a", encoding="utf-8") as log:
        log.write(json.dumps([text, colours, answer]) + "\n")
    return answer
