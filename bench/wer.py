"""Word error rate against jiwer on the same pairs in one run: seconds of each, their ratio, and whether all values agree.

Usage: python bench/wer.py [--pairs 5000] [--words 25]     (needs jiwer)
"""

import argparse
import random
import time
from collections.abc import Callable

import jiwer
from assay.core import Output, Sample
from assay.scorers.edits import Edits, count_edits
from assay.scorers.wer import WordErrorRate

Pairs = list[tuple[str, str]]
VOCABULARY = 2000


def make_pairs(count: int, words: int, seed: int = 0) -> Pairs:
    """Transcripts with about one word in eight wrong, missing or made up."""
    dice = random.Random(seed)
    vocabulary = ["".join(dice.choices("etaoinshrdlu", k=dice.randint(2, 9))) for _ in range(VOCABULARY)]
    pairs = []
    for _ in range(count):
        reference = dice.choices(vocabulary, k=dice.randint(1, 2 * words))
        said: list[str] = []
        for word in reference:
            chance = dice.random()
            if chance > 0.04:
                said.append(dice.choice(vocabulary) if chance > 0.95 else word)
            if dice.random() < 0.03:
                said.append(dice.choice(vocabulary))
        pairs.append((" ".join(reference), " ".join(said)))
    return pairs


def ours(pairs: Pairs) -> list[float]:
    return [count_edits(reference.split(), said.split()).rate for reference, said in pairs]


def ours_as_a_scorer(pairs: Pairs) -> list[float]:
    scorer = WordErrorRate()
    return [scorer(Sample(id="", target=r), Output.of(s)).value for r, s in pairs]  # type: ignore[misc]


def jiwer_one_by_one(pairs: Pairs) -> list[float]:
    return [jiwer.process_words(reference, said).wer for reference, said in pairs]


def jiwer_counts(pairs: Pairs) -> list[Edits]:
    made = [jiwer.process_words(reference, said) for reference, said in pairs]
    return [
        Edits(m.substitutions, m.deletions, m.insertions, m.hits + m.substitutions + m.deletions)
        for m in made
    ]


def jiwer_in_one_call(pairs: Pairs) -> list[float]:
    return [jiwer.process_words([r for r, _ in pairs], [s for _, s in pairs]).wer]


def best_of(function: Callable[[Pairs], list[float]], pairs: Pairs, times: int = 3) -> float:
    """The shortest of several runs in seconds."""
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        function(pairs)
        spent.append(time.perf_counter() - start)
    return min(spent)


def main() -> int:
    """Prints the figures; 0 when every value agrees, else 1."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--words", type=int, default=25, help="mean words of a reference")
    options = parser.parse_args()
    pairs = make_pairs(options.pairs, options.words)
    agree = ours(pairs) == jiwer_one_by_one(pairs) == ours_as_a_scorer(pairs)
    agree = agree and [count_edits(r.split(), s.split()) for r, s in pairs] == jiwer_counts(pairs)
    figures = {
        f.__name__: best_of(f, pairs) for f in (ours, ours_as_a_scorer, jiwer_one_by_one, jiwer_in_one_call)
    }
    print(f"{options.pairs} pairs, about {options.words} words; values and counts equal: {agree}")
    for name, seconds in figures.items():
        print(
            f"{name:<18} {seconds:8.4f} s   {1e6 * seconds / len(pairs):8.2f} us a pair   x{seconds / figures['ours']:.1f}"
        )
    print(f"ratio to jiwer one by one: {figures['jiwer_one_by_one'] / figures['ours']:.1f}")
    print(f"ratio to jiwer in one call: {figures['jiwer_in_one_call'] / figures['ours']:.1f}")
    return 0 if agree else 1


if __name__ == "__main__":
    raise SystemExit(main())
