"""Word error rate against jiwer on the same pairs in one run: CPU time of each, ratios, and whether all values agree.

Usage: python bench/wer.py [--pairs 5000] [--words 16]     (needs jiwer)

`value` is the rate of two word lists, `counts` the rate with S, D, I of two word lists, `text` the same from raw text,
`scorer` a whole call of the scorer. jiwer always starts from text and always aligns.
"""

import argparse
import random
import time
from collections.abc import Callable
from typing import Any

import jiwer

from assay.core import Output, Sample
from assay.scorers.speech.wer import WordErrorRate, count_edits, error_rate

Pair = tuple[str, str]
VOCABULARY = 2000
WRONG, LOST, ADDED = 0.05, 0.04, 0.03


def make_pairs(count: int, words: int, seed: int = 0) -> list[Pair]:
    """Transcripts with about one word in eight wrong, missing or made up."""
    dice = random.Random(seed)
    vocabulary = [
        "".join(dice.choices("etaoinshrdlu", k=dice.randint(2, 9)))
        for _ in range(VOCABULARY)
    ]
    pairs = []
    for _ in range(count):
        reference = dice.choices(vocabulary, k=words)
        said: list[str] = []
        for word in reference:
            chance = dice.random()
            if chance >= LOST:
                said.append(dice.choice(vocabulary) if chance > 1 - WRONG else word)
            if dice.random() < ADDED:
                said.append(dice.choice(vocabulary))
        pairs.append((" ".join(reference), " ".join(said)))
    return pairs


def cpu_seconds(work: Callable[[], Any], times: int = 5) -> float:
    """Return the least CPU time of several runs."""
    spent = []
    for _ in range(times):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


def agree(pairs: list[Pair], lists: list[tuple[list[str], list[str]]]) -> bool:
    """Whether rates and counts equal jiwer's on every pair."""
    scorer = WordErrorRate()
    for (reference, said), (wanted, heard) in zip(pairs, lists, strict=True):
        theirs, ours = jiwer.process_words(reference, said), count_edits(wanted, heard)
        value = scorer(Sample(id="", target=reference), Output.of(said)).value
        if (theirs.substitutions, theirs.deletions, theirs.insertions) != ours[:3]:
            return False
        if not theirs.wer == ours.rate == value == error_rate(wanted, heard):
            return False
    return True


def main() -> int:
    """Print the figures. Return 0 if every value agrees, otherwise 1."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--words", type=int, default=16, help="words of a reference")
    options = parser.parse_args()
    pairs = make_pairs(options.pairs, options.words)
    lists = [(reference.split(), said.split()) for reference, said in pairs]
    rows = [
        (Sample(id="", target=reference), Output.of(said)) for reference, said in pairs
    ]
    scorer = WordErrorRate()
    work: dict[str, Callable[[], Any]] = {
        "jiwer, pair by pair": lambda: [
            jiwer.wer(reference, said) for reference, said in pairs
        ],
        "jiwer, one call": lambda: jiwer.wer(
            [r for r, _ in pairs], [s for _, s in pairs]
        ),
        "value": lambda: [error_rate(wanted, heard) for wanted, heard in lists],
        "counts": lambda: [count_edits(wanted, heard).rate for wanted, heard in lists],
        "text": lambda: [
            count_edits(reference.split(), said.split()).rate
            for reference, said in pairs
        ],
        "scorer": lambda: [scorer(sample, output) for sample, output in rows],
    }
    equal = agree(pairs, lists)
    print(
        f"{options.pairs} pairs of {options.words} words; rates and counts equal jiwer's: {equal}"
    )
    figures = {name: cpu_seconds(run) / len(pairs) * 1e6 for name, run in work.items()}
    slow, fast = figures["jiwer, pair by pair"], figures["jiwer, one call"]
    print(f"{'':<22}{'us a pair':>10}{'x pair by pair':>16}{'x one call':>12}")
    for name, spent in figures.items():
        print(f"{name:<22}{spent:>10.2f}{slow / spent:>16.1f}{fast / spent:>12.1f}")
    return 0 if equal else 1


if __name__ == "__main__":
    raise SystemExit(main())
