"""The stand-in for whoever takes a model of assay's own kind."""

import io

from standin import say

from assay import Message


def generate(messages: list[Message]) -> str:
    text = "\n".join(message.text for message in messages if message.text)
    return say(
        text,
        [io.BytesIO(medium.data()) for message in messages for medium in message.media],
    )
