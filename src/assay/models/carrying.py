"""Check before a request is sent that it can contain every part of its prompt.

A request without its image is still answered and scored, so a prompt that would lose a part is rejected. Reasoning of
earlier turns is the exception: by convention it is not sent back to a model.
"""

from collections.abc import Collection
from dataclasses import dataclass

from ..core import DataError, Media, Message, Prompt
from ..core.message import CHAT_ROLES

INSTRUCTION_ROLES = frozenset({"system", "developer"})
ALL_MEDIA = frozenset({"image", "audio", "video"})
ROLES_FIX = "give the task `roles`, a mapping to system/user/assistant, so that the prompt is sent as a chat"


@dataclass(frozen=True, slots=True)
class Carrier:
    """The media and roles that one kind of request can contain."""

    name: str
    """Name in error messages, such as `the Messages API`."""
    media: frozenset[str] = frozenset()
    """Kinds of media that a turn of the user or the model can contain."""
    system_media: frozenset[str] = frozenset()
    """Kinds of media that a system message can contain."""
    roles: frozenset[str] | None = None
    """Roles that the request supports; None for a request that writes roles into the text."""
    system_first: bool = False
    """True if system messages must come before all others, because the request has only one system field."""
    fix: str = ""
    """Advice on how to send a medium that such a request cannot contain."""

    def refusal(self, prompt: Prompt) -> DataError | None:
        """Return the error for a prompt that cannot be sent completely; None if it can."""
        has_other_turn = False
        for message in prompt.messages:
            if message.parts is None:
                continue
            is_system = message.role in INSTRUCTION_ROLES
            is_known = self.roles is None or message.role in self.roles
            if not is_known and not message.results:
                return self._unknown_role(message)
            if is_system and self.system_first and has_other_turn:
                return self._late_system_turn()
            if is_system:
                kinds = self.system_media
            else:
                kinds = self.media
            medium = _first_medium_not_in(message, kinds)
            if medium is not None:
                return self._unknown_medium(medium, message)
            has_other_turn = has_other_turn or not is_system
        return None

    def _unknown_role(self, message: Message) -> DataError:
        """Return the error for a message whose role the endpoint does not support."""
        fix = ROLES_FIX
        if message.role in CHAT_ROLES:
            fix = "map it with the task's `roles`, or choose another model"
        return DataError(f"{self.name} has no role {message.role!r}", fix=fix)

    def _late_system_turn(self) -> DataError:
        """Return the error for a system message after the first turn."""
        return DataError(
            f"{self.name} takes system text only before the first turn",
            fix="put all system messages first",
        )

    def _unknown_medium(self, medium: Media, message: Message) -> DataError:
        """Return the error for a medium that the endpoint does not accept, or does not accept in a system message."""
        where = ""
        fix = self.fix
        if message.role in INSTRUCTION_ROLES:
            where = f" in a {message.role} turn"
            fix = f"put the {medium.kind} in a user turn"
        return DataError(
            f"{self.name} cannot carry {medium.kind}{where}",
            fix=fix or f"choose a model that accepts {medium.kind}",
        )


CHAT = Carrier("a chat request", ALL_MEDIA, ALL_MEDIA, CHAT_ROLES)
"""An OpenAI-style chat request, in which every turn can contain every kind of part."""


def _first_medium_not_in(
    message: Message,
    kinds: Collection[str],
) -> Media | None:
    """Return the first image, clip or video in a message whose kind is not in `kinds`; None if there is none."""
    for medium in message.media:
        if medium.kind not in kinds:
            return medium
    return None
