"""A counting bigram model: every probability is a fraction that can be checked by hand.

It counts which word follows which: `P(b | a) = (count(a b) + 1) / (count(a) + V)`, where `V` is the number of known
words and one place for all unknown ones. Run it with `--model examples/bigram.py:Bigram`.
"""

from collections import Counter
from itertools import pairwise
from math import log

from assay.core import Likelihood, Output

TEXT, UNKNOWN = (
    "the cat sat on the mat . the dog sat on the rug . the cat saw the dog .",
    "<unk>",
)


class Bigram:
    """Writes the most probable next words, and weighs texts word by word; before the first word is a full stop."""

    accepts = frozenset({"text"})
    produces = frozenset({"text"})

    def __init__(self, text: str = TEXT, max_tokens: int = 8):
        words = text.split()
        self.words, self.max_tokens = sorted({*words, UNKNOWN}), max_tokens
        self.pairs, self.firsts = Counter(pairwise(words)), Counter(words[:-1])

    def probability(self, word: str, after: str) -> float:
        """P(word | after); unknown words share one place."""
        word, after = (w if w in self.words else UNKNOWN for w in (word, after))
        return (self.pairs[after, word] + 1) / (self.firsts[after] + len(self.words))

    def next_word(self, after: str) -> str:
        """Return the most probable next word; of equals the first in the alphabet."""
        return max(self.words, key=lambda word: self.probability(word, after))

    def generate(self, requests):
        """Greedy words until a full stop or the limit."""
        return [self._write(r) for r in requests]

    def likelihood(self, requests):
        """Each continuation weighed after the prompt; a rolling request weighs the prompt itself."""
        return [Output(likelihoods=tuple(self._weigh(request))) for request in requests]

    def _write(self, request):
        written = [_words(request)[-1], self.next_word(_words(request)[-1])]
        while written[-1] != "." and len(written) <= (
            request.options.max_tokens or self.max_tokens
        ):
            written.append(self.next_word(written[-1]))
        return Output.of(
            " ".join(written[1:]),
            stop_reason="stop" if written[-1] == "." else "length",
        )

    def _weigh(self, request):
        context = _words(request)
        weighed = (
            [context[1:]]
            if request.prompt.rolling
            else [c.split() for c in request.prompt.continuations]
        )
        for words in weighed:
            steps = list(
                pairwise(
                    [context[0] if request.prompt.rolling else context[-1], *words]
                )
            )
            greedy = all(word == self.next_word(after) for after, word in steps)
            yield Likelihood(
                sum(log(self.probability(word, after)) for after, word in steps),
                greedy,
                len(steps),
            )


def _words(request) -> list[str]:
    return [
        ".",
        *" ".join(
            message.text for message in request.messages if message.parts
        ).split(),
    ]
