"""Scoring and summarizing many short answers: CPU seconds, and ratios to the usual libraries in the same run.

Usage: python bench/scoring.py [--answers 100000] [--pairs 3000] [--rounds 5]     (needs jiwer and rouge-score)

1. `answers` short answers by exact match, choice, F1 and WER: CPU seconds of each and of all four. Scores are let go
   as they come, as a run does that writes them out: keeping them would measure the collector walking over all of them.
2. WER against jiwer, ROUGE-L against rouge-score, from raw text; equal values are checked on every pair. Each library
   and our code take turns, and the least time of all rounds counts, since other programs share the machine.
3. Corpus WER and corpus BLEU over 10,000 samples in clusters, with their bootstrap intervals.
"""

import argparse
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import starmap
from typing import Any

import jiwer
from rouge_score.rouge_scorer import RougeScorer

from assay.core import Output, Sample, ScoreRecord, SummaryContext
from assay.scorers.choice.choice import Choice
from assay.scorers.speech.wer import WordErrorRate, count_edits, error_rate
from assay.scorers.text.match import ExactMatch
from assay.scorers.text.translation import Bleu
from assay.scorers.text.word_overlap import Rouge, TokenF1
from assay.summarizers.pooled import Pooled
from assay.summarizers.text_corpora import bleu

ENDINGS = ("n", "r", "st", "l", "")
SYLLABLES = [
    start + middle + end
    for start in "bdfgklmnprst"
    for middle in "aeiou"
    for end in ENDINGS
]
WRONG, LOST = 0.15, 0.05
SAMPLES, IN_CLUSTER = 10_000, 4
Pair = tuple[str, str]


SETTING = SummaryContext("bench", "bench", "bench", "bleu", None, 0, bounds=None)
"""What a summarizer may know."""


def make_pairs(count: int, seed: int = 0) -> list[Pair]:
    """Return references of 8 to 24 words, and copies with one word in five changed or lost."""
    dice = random.Random(seed)
    pairs = []
    for _ in range(count):
        words = dice.choices(SYLLABLES, k=dice.randint(8, 24))
        said = [
            dice.choice(SYLLABLES) if dice.random() < WRONG else word
            for word in words
            if dice.random() > LOST
        ]
        pairs.append((" ".join(words), " ".join(said) or words[0]))
    return pairs


def make_choices(count: int, seed: int = 1) -> list[tuple[Sample, Output]]:
    """Four options each; answers as models write them: two in five a bare letter, the rest in words."""
    dice = random.Random(seed)
    rows = []
    for number in range(count):
        options = tuple(
            " ".join(dice.sample(SYLLABLES, dice.randint(1, 3))) for _ in range(4)
        )
        letter = dice.choice("ABCD")
        text = options["ABCD".index(letter)]
        forms = (
            letter,
            f"{letter}.",
            f"{letter}. {text}",
            f"The answer is {letter}.",
            f"{text.capitalize()}.",
        )
        rows.append(
            (
                Sample(str(number), target=dice.choice("ABCD"), choices=options),
                Output.of(dice.choice(forms)),
            )
        )
    return rows


def cpu(work: Callable[[], Any]) -> float:
    """CPU seconds of one run."""
    start = time.process_time()
    work()
    return time.process_time() - start


def least(works: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the least CPU time of each function over some rounds in which all take turns."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            best[name] = min(best[name], cpu(work))
    return best


def short_answers(count: int) -> None:
    """Part 1."""
    pairs = make_pairs(count)
    texts = [
        (Sample(str(n), target=wanted), Output.of(said))
        for n, (wanted, said) in enumerate(pairs)
    ]
    letters = make_choices(count)
    spent = {}
    for name, scorer, rows in (
        ("exact match", ExactMatch(), texts),
        ("choice", Choice(), letters),
        ("F1", TokenF1(), texts),
        ("WER", WordErrorRate(), texts),
    ):
        spent[name] = cpu(
            lambda scorer=scorer, rows=rows: deque(starmap(scorer, rows), maxlen=0)
        )  # type: ignore[misc]
    print(
        f"{count:,} answers, CPU seconds: "
        + ", ".join(f"{name} {seconds:.2f}" for name, seconds in spent.items())
    )
    print(f"all four: {sum(spent.values()):.2f} s")


def against_libraries(count: int, rounds: int) -> bool:
    """Part 2; whether every value is equal."""
    pairs = make_pairs(count, seed=2)
    wanted, said = [w for w, _ in pairs], [s for _, s in pairs]
    library = RougeScorer(["rougeL"])
    ours = Rouge()
    works: dict[str, Callable[[], Any]] = {
        "jiwer, one call": lambda: jiwer.process_words(wanted, said),
        "jiwer, pair by pair": lambda: [jiwer.process_words(w, s) for w, s in pairs],
        "WER from text, rate": lambda: [
            error_rate(w.split(), s.split()) for w, s in pairs
        ],
        "WER from text, S D I": lambda: [
            count_edits(w.split(), s.split()) for w, s in pairs
        ],
        "rouge-score, ROUGE-L": lambda: [library.score(w, s) for w, s in pairs],
        "ROUGE-L from text": lambda: [ours.rouge_l(w, s) for w, s in pairs],
    }
    best = {
        name: seconds / count * 1e6 for name, seconds in least(works, rounds).items()
    }
    equal = all(_same(w, s, library, ours) for w, s in pairs)
    print(
        f"\n{count:,} pairs of 8 to 24 words, least of {rounds} rounds, all values equal: {equal}"
    )
    for name, micros in best.items():
        rival = "rouge-score, ROUGE-L" if "ROUGE" in name else "jiwer, one call"
        ratios = f"{best[rival] / micros:6.1f}x {rival}"
        if "WER" in name:
            ratios += (
                f"{best['jiwer, pair by pair'] / micros:8.1f}x jiwer, pair by pair"
            )
        print(f"{name:<22}{micros:>9.2f} us a pair   {ratios}")
    return equal


def _same(wanted: str, said: str, library: RougeScorer, ours: Rouge) -> bool:
    theirs, counts = (
        jiwer.process_words(wanted, said),
        count_edits(wanted.split(), said.split()),
    )
    measured = (theirs.substitutions, theirs.deletions, theirs.insertions)
    is_wer = measured == counts[:3] and theirs.wer == counts.rate == error_rate(
        wanted.split(), said.split()
    )
    return is_wer and bool(
        library.score(wanted, said)["rougeL"].fmeasure == ours.rouge_l(wanted, said)
    )


def intervals() -> None:
    """Part 3."""
    pairs = make_pairs(SAMPLES, seed=3)
    rates = _records(pairs, WordErrorRate(), "wer")
    counts = _records(pairs, Bleu(), "bleu")
    pooled = Pooled(("S", "D", "I"), "N", "wer")
    print(
        f"\n{SAMPLES:,} samples in {SAMPLES // IN_CLUSTER:,} clusters, value and bootstrap interval, CPU seconds:"
    )
    for name, work in (
        ("corpus WER", lambda: [*pooled(rates, SETTING)]),
        ("corpus BLEU", lambda: [*bleu(counts, SETTING)]),
    ):
        print(f"{name:<12} {cpu(work):.2f} s")


def _records(pairs: Sequence[Pair], scorer: Any, name: str) -> list[ScoreRecord]:
    made = []
    for number, (wanted, said) in enumerate(pairs):
        score = scorer(Sample(str(number), target=wanted), Output.of(said))
        said: dict[str, Any] = {
            "details": score.details,
            "cluster": f"c{number // IN_CLUSTER}",
        }
        made.append(
            ScoreRecord(
                "bench",
                "bench",
                str(number),
                name,
                "",
                {name: score.value},
                "scored",
                **said,
            )
        )
    return made


def main() -> int:
    """Print the figures. Return 0 if every value agrees, otherwise 1."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    short_answers(options.answers)
    equal = against_libraries(options.pairs, options.rounds)
    intervals()
    return 0 if equal else 1


if __name__ == "__main__":
    raise SystemExit(main())
