"""Missing kinds: answers that lack what the task asks for beside text, as a model does that never speaks or draws."""

from collections.abc import Iterator, Sequence

from ...core import Output


class MissingKinds:
    """Counts, by kind, the answers of a cell that have none of it."""

    def __init__(self, produces: Sequence[str] = ("text",)) -> None:
        self._wanted = tuple(kind for kind in produces if kind in ("image", "audio", "video"))
        self._counts: dict[str, int] = {}
        self._answers = 0

    def count(self, output: Output) -> None:
        """Notes an answer; what is no answer says nothing."""
        if not self._wanted or output.error is not None or not output.candidates:
            return
        self._answers += 1
        for kind in self._wanted:
            if any(all(medium.kind != kind for medium in candidate.media) for candidate in output.candidates):
                self._counts[kind] = self._counts.get(kind, 0) + 1

    def to_plain(self) -> dict[str, int]:
        """For `summary.json`; empty where every answer has all kinds."""
        return {f"answers_without_{kind}": count for kind, count in self._counts.items()}

    def lines(self, task: str, model: str) -> Iterator[str]:
        """For people."""
        for kind, count in self._counts.items():
            lacking = f"{count} of {self._answers} answers of {model} have no {kind}"
            yield f"warning: {task}: {lacking}, which the task asks for"
