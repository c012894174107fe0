"""Dialogues judged turn by turn, as in MT-Bench-101: `--judge MODEL`. A dialogue is worth its worst turn.

The judge rates every answer from 1 to 10 with a prompt of its own. Each task counts alike, however many dialogues it
has: a dialogue weighs one over their number.
"""

from collections import Counter

DIALOGUES = [
    ("memory", ["My dog is called Rex.", "What is my dog called?"]),
    ("memory", ["I was born in May.", "In which month was I born?", "And the next one?"]),
    ("memory", ["Call me Ada.", "What is my name?"]),
    ("rephrasing", ["Say 'it rains' in other words.", "Now in a longer sentence."]),
    ("reasoning", ["Ann is older than Bob, Bob than Cy. Who is oldest?", "And the youngest?"]),
    ("reasoning", ["What comes after 2, 4, 8?", "And after that?"]),
]  # fmt: skip
SIZES = Counter(task for task, _ in DIALOGUES)
dataset = [
    {"id": str(number), "task": task, "turns": turns, "weight": 1 / SIZES[task]}
    for number, (task, turns) in enumerate(DIALOGUES)
]
columns = {"weight": "weight"}
tags = ("task",)

GRADING = """Rate the last answer of this dialogue from 1 to 10: does it follow from all that was said before?

{{ conversation }}
assistant: {{ answer }}

Write your rating first, in double brackets, as in [[5]], then your reasons."""

scorers = {
    "name": "judge",
    "scale": "1-10",
    "rounds": "all",
    "prompt": GRADING,
    "verdict": r"\A[^\[]*\[\[(\d+)\]\]",
}
summarizers = [
    {
        "name": "formula",
        "metric": "worst_turn",
        "value": "worst / dialogues",
        "counts": {"worst": "min(rounds)", "dialogues": 1},
        "bounds": [1, 10],
    },
    "mean",
]
headline = "worst_turn"
