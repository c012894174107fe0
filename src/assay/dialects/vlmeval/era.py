"""Which revision of VLMEvalKit is meant where its revisions differ: the newest, or the one its document describes.

Rules and formats changed between them under the same names. A process that uses names which only the documented
revision has (`TSVDataset`, `vlmeval.eval`, `vlmeval.infer`) and no class of the newest is of that era;
`protocol="upstream@documented"` says so outright.
"""

from ..protocol import is_documented, is_upstream

_used: set[str] = set()


def note_documented() -> None:
    """Something was used that only the documented revision has."""
    _used.add("documented")


def note_newest() -> None:
    """Something was used that only the newest revision has."""
    _used.add("newest")


def note_class(cls: type) -> None:
    """A class was derived from one of the newest revision's; our own say nothing, nor do those upon `TSVDataset`."""
    is_ours = cls.__module__.startswith(f"{__package__}.facade")
    if not is_ours and not any(base.__name__ == "TSVDataset" for base in cls.__mro__):
        note_newest()


def of_documented() -> bool:
    """Whether names mean what they meant in the documented revision."""
    return is_documented("vlmeval") or _used == {"documented"}


def upstreams_rule() -> bool:
    """Whether upstream's rule is to be followed where ours differs."""
    return is_upstream("vlmeval")
