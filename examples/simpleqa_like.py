"""Short questions of fact, graded by a judge as SimpleQA does: `--judge MODEL`.

Each answer gets a grade, A, B or C. Each grade is a metric. Accuracy among the answers that were attempted, and the F1
of it with the share of right answers, are made from the three by a summarizer.
"""

dataset = [
    {"question": "Who wrote the novel Emma?", "answer": "Jane Austen"},
    {"question": "In which year did the Berlin Wall fall?", "answer": "1989"},
    {"question": "Which river flows through Cairo?", "answer": "the Nile"},
    {"question": "Who painted Guernica?", "answer": "Pablo Picasso"},
    {"question": "Which element has the symbol Fe?", "answer": "iron"},
    {"question": "What is the capital of Mongolia?", "answer": "Ulaanbaatar"},
    {"question": "Who composed The Magic Flute?", "answer": "Mozart"},
    {"question": "How many bones has an adult human?", "answer": "206"},
    {"question": "Which planet has the Great Red Spot?", "answer": "Jupiter"},
    {"question": "Who discovered penicillin?", "answer": "Alexander Fleming"},
    {"question": "In which country is Timbuktu?", "answer": "Mali"},
    {"question": "Which ocean is the deepest?", "answer": "the Pacific"},
]

GRADING = """Grade an answer to a question of fact against the reference.
A: it holds the reference and contradicts nothing in it.
B: it contradicts the reference, even if it hedges.
C: it neither holds nor contradicts the reference.

Question: {{ question }}
Reference: {{ reference }}
Answer: {{ answer }}

Reply with one letter: A, B or C."""

scorers = {
    "name": "judge",
    "prompt": GRADING,
    "verdict": r"\b([A-Z])\b",
    "grades": {"A": "correct", "B": "incorrect", "C": "not_attempted"},
    "lower_is_better": ["incorrect"],
}


def attempted(records):
    """Accuracy among attempted answers, and its F1 with the share of right answers."""
    graded = [record for record in records if record.outcome == "scored"]
    right = sum(record.values["correct"] for record in graded)
    tried = right + sum(record.values["incorrect"] for record in graded)
    share = right / len(graded) if graded else 0.0
    given_attempted = right / tried if tried else 0.0
    both = share + given_attempted
    return {
        "accuracy_given_attempted": given_attempted,
        "f1": 2 * share * given_attempted / both if both else 0.0,
    }


attempted.bounds = (0.0, 1.0)
summarizers = ["mean", attempted]
headline = "f1"
