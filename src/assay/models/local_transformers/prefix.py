"""Common prefixes: which tokens of many sequences are the same, and in what order to compute each of them once.

Sequences that begin alike form a tree. A long shared beginning becomes a *trunk*, computed by itself and kept; what
hangs below it becomes *segments*, small trees that are computed whole, many in one pass. Pure planning over token ids:
nothing here knows of tensors.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

MIN_SAVED = 32
"""A trunk costs a pass of its own: tokens it must save."""
WORTH_KEEPING = 64
"""From so many tokens on, what all sequences begin with is a trunk of its own: the next hand-over may begin alike."""


@dataclass(slots=True)
class Node:
    """Tokens `start` to `stop` of all sequences below it, which are equal up to there."""

    start: int
    stop: int
    row: int
    """One of the sequences below, to read the tokens from."""
    children: list["Node"] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """Sequences that end here."""
    below: int = 0
    """Tokens of all nodes beneath this one."""

    def walk(self) -> Iterator["Node"]:
        """This node and all beneath it, parents first."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def rows(self) -> Iterator[int]:
        """All sequences that pass through here."""
        for node in self.walk():
            yield from node.ends


def grow(sequences: Sequence[Sequence[int]]) -> Node:
    """The tree of all sequences; its root spans what is common to every one of them."""
    order = sorted(range(len(sequences)), key=lambda row: tuple(sequences[row]))
    import numpy as np

    arrays = [np.asarray(sequences[row], dtype=np.int64) for row in order]
    shared = [_common(a, b) for a, b in pairwise(arrays)]
    root = Node(0, 0, order[0])
    stack: list[tuple[Node, int, int]] = [(root, 0, len(order))]
    while stack:
        node, low, high = stack.pop()
        # Sorted, the shortest common prefix of a stretch is the smallest between its neighbours.
        node.stop = min(shared[low : high - 1], default=len(arrays[low]))
        first = low
        for at in range(low, high):
            if at + 1 < high and shared[at] > node.stop:
                continue
            group, first = (first, at + 1), at + 1
            while group[0] < group[1] and len(arrays[group[0]]) == node.stop:
                node.ends.append(order[group[0]])
                group = (group[0] + 1, group[1])
            if group[0] < group[1]:
                child = Node(node.stop, node.stop, order[group[0]])
                node.children.append(child)
                stack.append((child, *group))
    for node in reversed(list(root.walk())):
        node.below = sum(
            child.stop - child.start + child.below for child in node.children
        )
    return root


def common(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens two sequences begin with alike."""
    import numpy as np

    return _common(np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64))


def _common(a: "np.typing.NDArray[np.int64]", b: "np.typing.NDArray[np.int64]") -> int:
    size = min(len(a), len(b))
    same = a[:size] == b[:size]
    return size if same.all() else int(same.argmin())


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Stretch:
    """A trunk: a shared beginning, on top of the trunk before it. What was computed of it lives as long as it does."""

    row: int
    start: int
    stop: int
    parent: "Stretch | None"
    rows: tuple[int, ...]
    """The sequences that pass through it."""


@dataclass(frozen=True, slots=True)
class Bush:
    """A segment: everything below a trunk that is computed in one piece."""

    node: Node
    trunk: Stretch | None

    @property
    def start(self) -> int:
        """Where the trunk ends; what the node's parents hold beyond it is computed here again."""
        return 0 if self.trunk is None else self.trunk.stop

    @property
    def size(self) -> int:
        """Tokens to compute."""
        return self.node.stop - self.start + self.node.below


def steps(
    root: Node, *, segment: int, pack: int, trunk: Stretch | None = None
) -> Iterator[Stretch | Bush]:
    """What to compute, in order: each trunk before what hangs on it.

    A node becomes a segment when at most `segment` tokens branch off below it and the whole has at most `pack`; a
    longer one is a trunk where that saves anything, and is otherwise repeated in front of each of its children. `trunk`
    is what is there already of the root.
    """
    stack = [(root, trunk)]
    while stack:
        node, trunk = stack.pop()
        bush = Bush(node, trunk)
        edge = node.stop - bush.start
        is_worth_keeping = node is root and edge >= WORTH_KEEPING
        if node.below <= segment and bush.size <= pack and not is_worth_keeping:
            yield bush
            continue
        uses = len(node.children) + bool(node.ends)
        if is_worth_keeping or edge * (uses - 1) >= MIN_SAVED or edge > pack:
            for grown in _stretches(node, trunk, pack):
                trunk = grown
                yield grown
        elif node.ends:
            yield Bush(Node(node.start, node.stop, node.row, [], node.ends), trunk)
        stack.extend((child, trunk) for child in reversed(node.children))


def chains(
    root: Node, *, pack: int, trunk: Stretch | None = None
) -> Iterator[Stretch | tuple[int, Stretch | None]]:
    """The same for sequences that will grow: trunks, and each sequence with the trunk it hangs on."""
    stack = [(root, trunk)]
    while stack:
        node, trunk = stack.pop()
        edge = node.stop - (0 if trunk is None else trunk.stop)
        users = sum(1 for _ in node.rows())
        if edge * (users - 1) >= MIN_SAVED or (node is root and edge >= WORTH_KEEPING):
            for grown in _stretches(node, trunk, pack):
                trunk = grown
                yield grown
        for row in node.ends:
            yield row, trunk
        stack.extend((child, trunk) for child in reversed(node.children))


def _stretches(node: Node, trunk: Stretch | None, pack: int) -> Iterator[Stretch]:
    """What a node adds to a trunk, in pieces of at most `pack` tokens."""
    rows = tuple(node.rows())
    for start in range(0 if trunk is None else trunk.stop, node.stop, pack):
        trunk = Stretch(node.row, start, min(start + pack, node.stop), trunk, rows)
        yield trunk


@dataclass(frozen=True, slots=True)
class Layout:
    """A segment laid out in a line, parents before children."""

    tokens: list[int]
    positions: list[int]
    ends: list[int]
    """For each token, where the part of the line that may look at it ends."""
    paths: dict[int, list[tuple[int, int]]]
    """For each sequence that ends here: (position, place in the line) of the start of each node on its way."""

    def place(self, row: int, position: int) -> int:
        """Where in the line a token of a sequence stands; -1 if it lies in the trunk."""
        for start, offset in reversed(self.paths[row]):
            if position >= start:
                return offset + position - start
        return -1


def lay_out(bush: Bush, sequences: Sequence[Sequence[int]]) -> Layout:
    """The tokens of a segment in a line, each visible to those of its own node and of nodes beneath it."""
    tokens: list[int] = []
    positions: list[int] = []
    ends: list[int] = []
    paths: dict[int, list[tuple[int, int]]] = {}
    stack: list[tuple[Node, int, list[tuple[int, int]]]] = [(bush.node, bush.start, [])]
    while stack:
        node, start, path = stack.pop()
        path = [*path, (start, len(tokens))]
        size = node.stop - start
        ends += [len(tokens) + size + node.below] * size
        tokens += sequences[node.row][start : node.stop]
        positions += range(start, node.stop)
        for row in node.ends:
            paths[row] = path
        stack.extend((child, child.start, path) for child in reversed(node.children))
    return Layout(tokens, positions, ends, paths)
