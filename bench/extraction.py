"""Scores a corpus of labelled multiple-choice outputs: agreement, precision per rule, every disagreement.

Usage: python bench/extraction.py [FILE]     (default: the repository's own corpus; format in docs/extraction.md)
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from assay.scorers.choice_rules import Extraction, extract_choice

CORPUS = Path(__file__).resolve().parents[1] / "tests" / "scorers" / "corpus" / "choices.jsonl"


def read_corpus(path: Path) -> list[dict[str, Any]]:
    """The rows of a corpus file; blank lines are skipped."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line.strip()]


def agrees(row: dict[str, Any], found: Extraction) -> bool:
    """Whether letter and outcome are the labelled ones; a row without `outcome` is judged by its letter."""
    outcome = row.get("outcome", "scored" if row["expected"] else found.outcome)
    return (found.answer, found.outcome) == (row["expected"], outcome)


def precision_table(rows: Iterable[dict[str, Any]]) -> str:
    """Per rule: how often it fired, how often it was right, and the share."""
    fired: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for row in rows:
        found = extract_choice(row["output"], row["options"])
        fired[found.rule] += 1
        right[found.rule] += agrees(row, found)
    lines = [f"{'rule':<16} {'fired':>6} {'right':>6} {'precision':>10}"]
    lines += [f"{rule:<16} {n:>6} {right[rule]:>6} {right[rule] / n:>10.4f}" for rule, n in fired.most_common()]
    return "\n".join(lines)


def main() -> int:
    """Prints the report; 0 when every row agrees, else 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=CORPUS)
    rows = read_corpus(parser.parse_args().file)
    found = [extract_choice(row["output"], row["options"]) for row in rows]
    wrong = [(row, result) for row, result in zip(rows, found, strict=True) if not agrees(row, result)]
    share = (len(rows) - len(wrong)) / len(rows) if rows else 0.0
    print(f"rows {len(rows)}   agree {len(rows) - len(wrong)}   agreement {share:.4f}\n")
    print(precision_table(rows))
    for row, result in wrong:
        expected = row["expected"] or row.get("outcome", "no answer")
        print(f"\n{row['id']}: expected {expected}, got {result.answer or result.outcome} by {result.rule}")
        print(f"  output:   {row['output'][:200]!r}\n  evidence: {result.evidence!r}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
