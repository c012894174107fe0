"""Questions about one to three images, in several subtasks, as in BLINK: the mean of the subtasks is the headline.

The images are drawn here, so that the file can be tried as it is; rows may as well name files.
"""

from io import BytesIO

COLOURS = {"red": (220, 30, 30), "blue": (30, 60, 220), "green": (30, 160, 60)}
ROWS = [
    ("counting", ["red"], "How many images are there?", ["one", "two"], "A"),
    ("counting", ["red", "blue"], "How many images are there?", ["one", "two"], "B"),
    ("counting", ["red", "blue", "green"], "How many images are there?", ["two", "three"], "B"),
    ("similarity", ["red", "red", "blue"], "Which image is like the first one?", ["the second", "the third"], "A"),
    ("similarity", ["blue", "red", "blue"], "Which image is like the first one?", ["the second", "the third"], "B"),
    ("similarity", ["green", "green", "red"], "Which image is like the first one?", ["the second", "the third"], "A"),
    ("similarity", ["red", "green", "red"], "Which image is like the first one?", ["the second", "the third"], "B"),
    ("similarity", ["blue", "green", "blue"], "Which image is like the first one?", ["the second", "the third"], "B"),
]  # fmt: skip


def _png(colour):
    from PIL import Image

    stream = BytesIO()
    Image.new("RGB", (32, 32), COLOURS[colour]).save(stream, "PNG")
    return stream.getvalue()


def dataset():
    """Yield a row for each question, with its images in order."""
    for number, (subtask, colours, question, options, answer) in enumerate(ROWS):
        yield {
            "id": str(number),
            "subtask": subtask,
            "question": question,
            "images": [_png(colour) for colour in colours],
            "options": options,
            "answer": answer,
        }


tags = ("subtask",)
scorers = "choice"
summarizers = [{"group_mean": {"by": "subtask", "name": "blink"}}, "mean"]
headline = "blink"
