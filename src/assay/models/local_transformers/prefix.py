"""Find common prefixes of token sequences, and plan how to compute each of them once.

Sequences with common prefixes form a tree. A long shared prefix is computed on its own
and cached. The rest of the tree is divided into *segments*: small subtrees, many of
which fit into one forward pass. This module works with token ids only, and needs no
tensors.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

MIN_SAVED = 32
"""Smallest number of tokens that a separate prefix must save, because it costs a forward pass of its own."""
WORTH_KEEPING = 64
"""Smallest length at which the common prefix of all sequences is cached for the next batch."""


@dataclass(slots=True)
class Node:
    """A node of the prefix tree: the tokens `start` to `stop`, which all sequences below the node share."""

    start: int
    stop: int
    row: int
    """Index of one of the sequences below this node, from which its tokens are read."""
    children: list["Node"] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """Indices of the sequences that end at this node."""
    below: int = 0
    """Total number of tokens in the nodes below this one."""

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
    """Build the prefix tree of sequences. Its root is the prefix that all of them share."""
    import numpy as np

    order = sorted(range(len(sequences)), key=lambda row: tuple(sequences[row]))
    arrays = [np.asarray(sequences[row], dtype=np.int64) for row in order]
    lengths = [len(array) for array in arrays]
    shared = [_common(first, second) for first, second in pairwise(arrays)]
    root = Node(0, 0, order[0])
    stack = [(root, 0, len(order))]
    while stack:
        node, low, high = stack.pop()
        # Sorted sequences share what the least similar neighbours among them share.
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
    """Set `below` of each node: the number of tokens of all nodes below it."""
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
    """Yield index ranges of sorted sequences whose common prefix is longer than `length`.

    `shared[i]` is the number of tokens that sequence `i` shares with the next one.
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
    """Return the length of the common prefix of two sequences of the same type."""
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
    """A shared prefix to compute: the tokens `start` to `stop`, after those of its parent prefix.

    Its cached keys and values are freed together with this object.
    """

    row: int
    start: int
    stop: int
    parent: "PrefixSpan | None"
    rows: tuple[int, ...]
    """Indices of the sequences that begin with this prefix."""


@dataclass(frozen=True, slots=True)
class Subtree:
    """A segment: a subtree of the prefix tree, computed in one forward pass after its cached prefix."""

    node: Node
    prefix: PrefixSpan | None

    @property
    def start(self) -> int:
        """Index of the segment's first token in its sequences: the end of the cached prefix.

        If the prefix ends inside a parent node, the segment repeats the rest of that
        node.
        """
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
    """Yield the prefixes and segments to compute, each prefix before the segments that need it.

    A subtree becomes a segment if it has at most `pack` tokens, of which at most
    `segment` are below its root. Otherwise the root becomes a prefix if that saves
    enough; if not, the segments of its children repeat its tokens. `prefix` is the part
    of the tree's root that is already cached.
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
    """Yield prefixes, of at most `pack` tokens each, from the end of `prefix` to a node's end."""
    rows = tuple(node.rows())
    for start in range(0 if prefix is None else prefix.stop, node.stop, pack):
        prefix = PrefixSpan(node.row, start, min(start + pack, node.stop), prefix, rows)
        yield prefix


@dataclass(frozen=True, slots=True)
class Layout:
    """The tokens of a segment (a subtree of the prefix tree) in the order of computation.

    The tokens of each tree node come before those of its children.
    """

    tokens: list[int]
    positions: list[int]
    ends: list[int]
    """For each token, the end of the range of tokens that may attend to it."""
    paths: dict[int, list[tuple[int, int]]]
    """For each sequence, its tree nodes as pairs: (position in the sequence, index
    in the layout) of the first token.
    """

    def offset_of(self, row: int, position: int) -> int:
        """Return the index in the layout for a token of a sequence; -1 if the token is in the cached prefix."""
        for start, offset in reversed(self.paths[row]):
            if position >= start:
                return offset + position - start
        return -1


def lay_out(
    subtree: Subtree,
    sequences: Sequence[Sequence[int]],
) -> Layout:
    """Arrange the tokens of a segment in one list.

    A token is visible to the later tokens of its own tree node and of all nodes below.
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
