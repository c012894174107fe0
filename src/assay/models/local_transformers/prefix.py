"""Common prefixes: which tokens of many sequences are equal, and in what order to compute each of them once.

Sequences with equal beginnings form a tree. A long shared prefix is computed on its own and cached. What
follows it becomes *segments*: small trees, many of which are computed in one pass. This is pure planning over
token ids, without tensors.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

MIN_SAVED = 32
"""Tokens that a separate prefix must save, because it costs a pass of its own."""
WORTH_KEEPING = 64
"""Minimum length at which the common prefix of all sequences is cached, because the next batch may share it."""


@dataclass(slots=True)
class Node:
    """Tokens `start` to `stop`, which all sequences below this node share, like everything before them."""

    start: int
    stop: int
    row: int
    """Index of one of the sequences below this node, from which the tokens are read."""
    children: list["Node"] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """Sequences that end at this node."""
    below: int = 0
    """Number of tokens of all nodes below this one."""

    def walk(self) -> Iterator["Node"]:
        """Yield this node and all nodes below it, parents first."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def rows(self) -> Iterator[int]:
        """All sequences that pass through this node."""
        for node in self.walk():
            yield from node.ends


def grow(sequences: Sequence[Sequence[int]]) -> Node:
    """Return the tree of all sequences. Its root covers the prefix that all of them share."""
    import numpy as np

    order = sorted(range(len(sequences)), key=lambda row: tuple(sequences[row]))
    arrays = [np.asarray(sequences[row], dtype=np.int64) for row in order]
    lengths = [len(array) for array in arrays]
    shared = [_common(first, second) for first, second in pairwise(arrays)]
    root = Node(0, 0, order[0])
    stack = [(root, 0, len(order))]
    while stack:
        node, low, high = stack.pop()
        # In sorted order, all of a range share what its least similar neighbours share.
        node.stop = min(shared[low : high - 1], default=lengths[low])
        for start, stop in _groups(shared, node.stop, low, high):
            first = start
            while first < stop and lengths[first] == node.stop:
                node.ends.append(order[first])
                first += 1
            if first == stop:
                continue
            child = Node(node.stop, node.stop, order[first])
            node.children.append(child)
            stack.append((child, first, stop))
    _count_below(root)
    return root


def _count_below(root: Node) -> None:
    """Set the number of tokens below each node, children first."""
    for node in reversed(list(root.walk())):
        for child in node.children:
            node.below += child.stop - child.start
            node.below += child.below


def _groups(
    shared: Sequence[int],
    length: int,
    low: int,
    high: int,
) -> Iterator[tuple[int, int]]:
    """Yield the ranges of sorted sequences that share more than `length` tokens."""
    first = low
    for index in range(low, high):
        is_last = index + 1 == high
        if is_last or shared[index] <= length:
            yield first, index + 1
            first = index + 1


def common(
    a: Sequence[int],
    b: Sequence[int],
) -> int:
    """Return how many tokens two sequences of one type have in common at the start."""
    size = min(len(a), len(b))
    if a[:size] == b[:size]:
        return size
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _common(a: "np.typing.NDArray[np.int64]", b: "np.typing.NDArray[np.int64]") -> int:
    size = min(len(a), len(b))
    same = a[:size] == b[:size]
    if same.all():
        return size
    return int(same.argmin())


@dataclass(
    frozen=True,
    slots=True,
    eq=False,
    weakref_slot=True,
)
class PrefixSpan:
    """A shared prefix that continues its parent. Its keys and values are freed with it."""

    row: int
    start: int
    stop: int
    parent: "PrefixSpan | None"
    rows: tuple[int, ...]
    """The sequences that begin with it."""


@dataclass(frozen=True, slots=True)
class Subtree:
    """A segment: everything below a prefix that is computed in one pass."""

    node: Node
    prefix: PrefixSpan | None

    @property
    def start(self) -> int:
        """End of the prefix. Tokens of parent nodes after it are computed again here."""
        if self.prefix is None:
            return 0
        return self.prefix.stop

    @property
    def size(self) -> int:
        """Number of tokens to compute."""
        return self.node.stop - self.start + self.node.below


def steps(
    root: Node,
    *,
    segment: int,
    pack: int,
    prefix: PrefixSpan | None = None,
) -> Iterator[PrefixSpan | Subtree]:
    """Yield what to compute, each prefix before its segments.

    A node becomes a segment if at most `segment` tokens branch off below it and the whole has at most `pack`. A
    longer node becomes a prefix if that saves anything, and is otherwise repeated before each of its children.
    `prefix` is the part of the root that is cached already.
    """
    stack = [(root, prefix)]
    while stack:
        node, prefix = stack.pop()
        subtree = Subtree(node, prefix)
        edge = node.stop - subtree.start
        is_worth_keeping = node is root and edge >= WORTH_KEEPING
        if node.below <= segment and subtree.size <= pack and not is_worth_keeping:
            yield subtree
            continue
        uses = len(node.children) + bool(node.ends)
        if is_worth_keeping or edge * (uses - 1) >= MIN_SAVED or edge > pack:
            for grown in _prefix_spans(node, prefix, pack):
                prefix = grown
                yield grown
        elif node.ends:
            yield Subtree(Node(node.start, node.stop, node.row, [], node.ends), prefix)
        stack.extend((child, prefix) for child in reversed(node.children))


def _prefix_spans(
    node: Node,
    prefix: PrefixSpan | None,
    pack: int,
) -> Iterator[PrefixSpan]:
    """Yield the prefixes by which a node extends a prefix, in pieces of at most `pack` tokens."""
    rows = tuple(node.rows())
    for start in range(0 if prefix is None else prefix.stop, node.stop, pack):
        prefix = PrefixSpan(node.row, start, min(start + pack, node.stop), prefix, rows)
        yield prefix


@dataclass(frozen=True, slots=True)
class Layout:
    """A segment laid out in a line, parents before children."""

    tokens: list[int]
    positions: list[int]
    ends: list[int]
    """For each token, the end of the tokens in the line that attend to it."""
    paths: dict[int, list[tuple[int, int]]]
    """For each sequence that ends here: (position, index in the line) of the start of each node on its path."""

    def offset_of(self, row: int, position: int) -> int:
        """Return the index in the line of the token at a position of a sequence; -1 if it is in the prefix."""
        for start, offset in reversed(self.paths[row]):
            if position >= start:
                return offset + position - start
        return -1


def lay_out(
    subtree: Subtree,
    sequences: Sequence[Sequence[int]],
) -> Layout:
    """Lay out the tokens of a segment in a line.

    Each token is visible to its own node and the nodes below it.
    """
    layout = Layout([], [], [], {})
    root_path: list[tuple[int, int]] = []
    stack = [(subtree.node, subtree.start, root_path)]
    while stack:
        node, start, path_above = stack.pop()
        offset = len(layout.tokens)
        size = node.stop - start
        end = offset + size + node.below
        path = [*path_above, (start, offset)]
        for row in node.ends:
            layout.paths[row] = path
        layout.tokens.extend(sequences[node.row][start : node.stop])
        layout.positions.extend(range(start, node.stop))
        layout.ends.extend([end] * size)
        for child in reversed(node.children):
            stack.append((child, child.start, path))
    return layout
