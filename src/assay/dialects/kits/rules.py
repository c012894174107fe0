"""Whose rule the kits' common functions follow: they cannot tell which of the two kits asks."""

from ..protocol import is_upstream

KITS = ("vlmeval", "ulmeval")


def as_upstream() -> bool:
    """Whether upstream's rule was chosen for either of them."""
    return any(is_upstream(kit) for kit in KITS)
