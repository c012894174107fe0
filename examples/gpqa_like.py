"""Hard questions asked several times, each time with the options in another order, as GPQA is measured.

Every repeat is a row of its own with its own order. The repeats of a question are one cluster, so that the interval
is that of as many questions as there are.
"""

import random

REPEATS = 8
QUESTIONS = [
    ("Which particle carries the strong force?", "the gluon", ["the photon", "the W boson", "the graviton"]),
    ("Which base pairs with adenine in RNA?", "uracil", ["thymine", "cytosine", "guanine"]),
    ("What is the derivative of ln x?", "1/x", ["x", "ln x", "e^x"]),
    ("Which gas do plants take in?", "carbon dioxide", ["oxygen", "nitrogen", "helium"]),
]  # fmt: skip


def dataset():
    """Yield each question once for each repeat, its options in an order drawn for that repeat."""
    for number, (question, right, wrong) in enumerate(QUESTIONS):
        for repeat in range(REPEATS):
            options = [right, *wrong]
            random.Random(f"{number}/{repeat}").shuffle(options)
            yield {
                "id": f"{number}-{repeat}",
                "asked": question,
                "A": options[0],
                "B": options[1],
                "C": options[2],
                "D": options[3],
                "letter": "ABCD"[options.index(right)],
                "number": str(number),
            }


columns = {"input": "asked", "target": "letter", "choices": ""}
cluster = "number"
template = """Answer the following question. The last line of your answer is 'Answer: LETTER'.

{{ asked }}

A) {{ A }}
B) {{ B }}
C) {{ C }}
D) {{ D }}"""
scorers = {
    "name": "regex",
    "pattern": r"(?i)answer[ \t]*:[ \t]*\$?([A-D])\b",
    "group": 1,
    "match": "first",
    "ignore_case": True,
}
