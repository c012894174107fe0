"""Facts to be found in a long text, as in RULER: three tasks, and their mean as the headline.

Retrieval and tracing count the share of the references that are in the answer; questions count any of them. RULER
reports the mean of the tasks, so `group_mean` is named as the headline, whatever the number of rows in each.
"""

from assay import Score

FILLER = "The grass is green. The sky is blue. The sun is yellow. Here we go. "


FACTS = [
    ("niah", "Magic numbers for owl: 4821, 7310.", "Magic numbers for owl?", ["4821", "7310"]),
    ("niah", "Magic numbers for fox: 1111, 2222.", "Magic numbers for fox?", ["1111", "2222"]),
    ("niah", "For elk: 3456, 9876, 5555, 1212.", "Magic numbers for elk?", ["3456", "9876", "5555", "1212"]),
    ("niah", "Magic number for bee: 6060.", "Magic number for bee?", ["6060"]),
    ("vt", "VAR A = 12. VAR B = A. VAR C = 9.", "Which have the value 12?", ["A", "B"]),
    ("vt", "VAR X = 7. VAR Y = X.", "Which have the value 7?", ["X", "Y"]),
    ("qa", "The bridge was opened in 1894.", "When was the bridge opened?", ["1894", "in 1894"]),
    ("qa", "The painter lived in Delft.", "Where did the painter live?", ["Delft", "Holland"]),
]  # fmt: skip
dataset = [
    {
        "id": str(number),
        "task": task,
        "text": f"{FILLER * 5}{fact} {FILLER * 5}",
        "ask": question,
        "references": references,
    }
    for number, (task, fact, question, references) in enumerate(FACTS)
]
columns = {"target": "references"}
tags = ("task",)
template = "Read the text and answer.\n\n{{ text }}\n\n{{ ask }} Answer:"
options = {"max_tokens": 128}


def match(sample, output):
    """Return the share of references in the answer; for questions, 1 if any of them is there."""
    text = "".join(c if c.isprintable() else "\n" for c in output.text).strip().lower()
    hits = [reference.lower() in text for reference in sample.targets]
    value = float(any(hits)) if sample.tags["task"] == "qa" else sum(hits) / len(hits)
    return Score(value, answer=text)


scorers = match
summarizers = [{"group_mean": {"by": "task", "name": "ruler"}}, "mean"]
headline = "ruler"
