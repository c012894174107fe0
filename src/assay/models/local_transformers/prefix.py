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
"""Smallest length of the prefix of all sequences at which it is kept in the cache for the next batch."""


@dataclass(slots=True)
class Node:
    """A node of the tree: the tokens `start` to `stop` of all sequences below it, which are equal up to `stop`."""

    start: int
    stop: int
    row: int
    """Index of one of the sequences below this node. The tokens of the node are read from it."""
    children: list["Node"] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """Indices of the sequences that end at this node."""
    below: int = 0
    """Total number of tokens of all nodes below this one."""

    def walk(self) -> Iterator["Node"]:
        """Yield this node and all nodes below it, parents first."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def rows(self) -> Iterator[int]:
        """Yield the indices of all sequences that pass through this node."""
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
    """Yield index ranges of neighbouring sorted sequences that share more than `length` tokens.

    `shared` has the number of tokens that each sequence shares with the next one.
    """
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
    """Return how many tokens two sequences share at their beginnings. Both must have the same type."""
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
    """A shared prefix that continues its parent. Its cached keys and values are freed together with this object."""

    row: int
    start: int
    stop: int
    parent: "PrefixSpan | None"
    rows: tuple[int, ...]
    """Indices of the sequences that begin with this prefix."""


@dataclass(frozen=True, slots=True)
class Subtree:
    """A segment: the part of the tree below a prefix that is computed in one pass."""

    node: Node
    prefix: PrefixSpan | None

    @property
    def start(self) -> int:
        """The end of the prefix, where this segment starts. It computes later tokens of parent nodes again."""
        if self.prefix is None:
            return 0
        return self.prefix.stop

    @property
    def size(self) -> int:
        """Number of tokens to compute in this segment."""
        return self.node.stop - self.start + self.node.below


def steps(
    root: Node,
    *,
    segment: int,
    pack: int,
    prefix: PrefixSpan | None = None,
) -> Iterator[PrefixSpan | Subtree]:
    """Yield the prefixes and segments to compute, each prefix before its segments.

    A node becomes a segment if at most `segment` tokens branch off below it and it has at most `pack` tokens in all. A
    longer node becomes a prefix if that saves anything; otherwise its tokens are repeated before each of its children.
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
    """The tokens of a segment in one sequence, parents before children."""

    tokens: list[int]
    positions: list[int]
    ends: list[int]
    """For each token, the index in the layout after the last token that attends to it."""
    paths: dict[int, list[tuple[int, int]]]
    """For each sequence of this segment and each node on its path: the first position, and its index in the layout."""

    def offset_of(self, row: int, position: int) -> int:
        """Return the index in the layout of the token at a position of a sequence; -1 if the token is in the prefix."""
        for start, offset in reversed(self.paths[row]):
            if position >= start:
                return offset + position - start
        return -1


def lay_out(
    subtree: Subtree,
    sequences: Sequence[Sequence[int]],
) -> Layout:
    """Arrange the tokens of a segment in one sequence.

    Each token is visible to later tokens of its own node and to the nodes below it.
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
