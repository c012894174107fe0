"""Counts in messages: "1 sample", "2,000 samples"."""


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Return a count with its noun: `plural(1, "sample")` is "1 sample", `plural(2, "sample")` is "2 samples"."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def note_line(note: str) -> str:
    """Return a note as a line for people. A warning is marked as one in its own text."""
    return note if note.startswith("warning: ") else f"note: {note}"
