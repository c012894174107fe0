"""The viewer: a journal of 100,000 samples (116 MB) indexed, listed, filtered and searched.

    python bench/viewer.py [--samples 100000] [--keep DIR]
"""

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

from assay.store.journal import output_line, score_line, seal

SUBJECTS = "law physics history music logic anatomy ethics botany".split()  # noqa: SIM905
WORDS = (
    "the of a in to river castle seven answer because light number green found over time paper round small quiet early "
    "winter train letter house stone garden market bridge morning evening yellow engine winter harbour copper"
).split()


def write_journal(path: Path, samples: int) -> None:
    """Questions and answers of some hundred characters, two lines a sample, as a run writes them."""
    draw = random.Random(7)
    with path.open("wb") as file:
        for number in range(samples):
            question = " ".join(draw.choices(WORDS, k=55))
            answer = " ".join(draw.choices(WORDS, k=30))
            right = draw.random() < 0.7
            outcome = "scored" if draw.random() < 0.98 else "unparsed"
            usage = {"input_tokens": 120 + number % 50, "output_tokens": 60 + number % 30}
            output = {"candidates": [{"text": f"{answer}. ANSWER: {'ABCD'[number % 4]}", "stop_reason": "stop"}],
                      "usage": usage, "seconds": round(draw.lognormvariate(0, 0.6), 6)}  # fmt: skip
            key = f"{draw.getrandbits(128):032x}"
            prompt = [{"role": "system", "content": "Answer with a letter."}, {"role": "user", "content": question}]
            file.write(seal(output_line("bench", "model", f"q{number}", key, prompt, output, target="ABCD"[number % 4])))
            values = {"choice": 1.0 if right and outcome == "scored" else 0.0}
            more = {"answer": "ABCD"[number % 4], "details": {"rule": "answer line"}, "order": number}
            tags = {"subject": SUBJECTS[number % len(SUBJECTS)], "level": str(number % 3)}
            line = score_line("bench", "model", f"q{number}", "choice", f"{number:028x}", values, outcome, tags=tags, **more)
            file.write(seal(line))
