"""How well letters are read: agreement on labelled or real outputs, and two rates under attack, reported apart.

    python bench/extraction.py                 the repository's corpus: both rates, precision per rule, wrong letters
    python bench/extraction.py FILE            your own outputs in the same form (docs/extraction.md)
    python bench/extraction.py --attacks [HALF …]   hostile phrasings: wrong letters and unparsed answers per family
    python bench/extraction.py --answers       hostile answers of the last ten rounds, each with options of its own
    python bench/extraction.py --published [FILE …]  published outputs against the letter they declare (shared/data)

Exits 1 where a letter is wrong.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from extraction_attacks import Attack, answers, attacks
from extraction_published import SHARED, published

from assay.scorers.choice.choice_rules import Extraction, extract_choice

CORPUS = (
    Path(__file__).resolve().parents[1]
    / "tests"
    / "scorers"
    / "choice"
    / "corpus"
    / "choices.jsonl"
)


def read_corpus(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a corpus file; blank lines are skipped."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line.strip()]


def read_row(row: dict[str, Any]) -> Extraction:
    """Return what the rules read in a row; `is_cut` says that the token limit cut its output."""
    is_cut = row.get("is_cut", False)
    return extract_choice(row["output"], row["options"], is_cut=is_cut)


def verdict(expected: str | None, found: Extraction) -> str:
    """`right`, `wrong` for another letter than the one that was taken, `unparsed` for none."""
    return (
        "right"
        if found.answer == expected
        else "unparsed"
        if found.answer is None
        else "wrong"
    )


def rates(verdicts: Iterable[str]) -> str:
    """Return the number of answers, wrong letters and unparsed ones, with their shares."""
    counts = Counter(verdicts)
    total = max(counts.total(), 1)
    shares = "".join(
        f"{counts[name]:>7} {counts[name] / total:>8.2%}"
        for name in ("wrong", "unparsed")
    )
    return f"{counts.total():>7}{shares}"


def precision_table(rows: Iterable[dict[str, Any]]) -> str:
    """Per rule: how often it fired, how often it was right, and the share."""
    fired: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for row in rows:
        found = read_row(row)
        fired[found.rule] += 1
        right[found.rule] += found.answer == row["expected"]
    lines = [f"{'rule':<16} {'fired':>6} {'right':>6} {'precision':>10}"]
    lines += [
        f"{rule:<16} {n:>6} {right[rule]:>6} {right[rule] / n:>10.4f}"
        for rule, n in fired.most_common()
    ]
    return "\n".join(lines)


def agreement(paths: Sequence[Path]) -> int:
    """Print both rates on the outputs that declare a letter, and how many of the others are read. Return 0."""
    print(
        f"{'outputs':<44} {'answers':>7} {'wrong':>15} {'unparsed':>15} {'undeclared':>11} {'read':>6}"
    )
    for path in paths:
        rows = [(one, extract_choice(one.text, one.options)) for one in published(path)]
        declared = rates(
            verdict(one.declared, found) for one, found in rows if one.declared
        )
        others = [found for one, found in rows if not one.declared]
        print(
            f"{path.stem[-44:]:<44} {declared} {len(others):>11} {sum(bool(one.answer) for one in others):>6}"
        )
    return 0


def attacked(hostile: Iterable[Attack]) -> int:
    """Print both rates for each half and family. Return the number of wrong letters."""
    rows = [
        (
            one.half,
            one.family,
            verdict(
                one.expected, extract_choice(one.text, one.options, is_cut=one.is_cut)
            ),
        )
        for one in hostile
    ]
    print(f"{'half':<8} {'family':<26} {'answers':>7} {'wrong':>15} {'unparsed':>15}")
    for half, family in dict.fromkeys((half, family) for half, family, _ in rows):
        print(
            f"{half:<8} {family:<26} {rates(found for h, f, found in rows if (h, f) == (half, family))}"
        )
    for half in dict.fromkeys(half for half, _, _ in rows):
        print(
            f"{half:<8} {'all':<26} {rates(found for h, _, found in rows if h == half)}"
        )
    return sum(found == "wrong" for _, _, found in rows)


def main() -> int:
    """Print the report. Return 0 if no letter is wrong, otherwise 1."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", nargs="?", type=Path, default=CORPUS)
    parser.add_argument(
        "--attacks",
        nargs="*",
        metavar="HALF",
        help="hostile phrasings: of some halves, or all",
    )
    parser.add_argument(
        "--answers", action="store_true", help="hostile answers of the last ten rounds"
    )
    parser.add_argument(
        "--published",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="published outputs, or shared/data",
    )
    given = parser.parse_args()
    if given.published is not None:
        return agreement(given.published or [SHARED])
    if given.attacks is not None or given.answers:
        return (
            1
            if attacked(answers() if given.answers else attacks(*given.attacks))
            else 0
        )
    rows = read_corpus(given.file)
    found = [read_row(row) for row in rows]
    verdicts = [
        verdict(row["expected"], one) for row, one in zip(rows, found, strict=True)
    ]
    print(
        f"{'':<8} {'':<26} {'answers':>7} {'wrong':>15} {'unparsed':>15}\n{'':<35} {rates(verdicts)}\n"
    )
    print(precision_table(rows))
    for row, one, said in zip(rows, found, verdicts, strict=True):
        if said == "wrong":
            print(
                f"\n{row['id']}: expected {row['expected'] or 'none'}, got {one.answer} by {one.rule}"
            )
            print(f"  output:   {row['output'][:200]!r}\n  evidence: {one.evidence!r}")
    return 1 if "wrong" in verdicts else 0


if __name__ == "__main__":
    raise SystemExit(main())
