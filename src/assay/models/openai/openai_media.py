"""The OpenAI endpoints for images and audio (generate, edit, speak, transcribe), and `modalities` in chat."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...core import (
    Audio,
    Candidate,
    Image,
    Media,
    Output,
    Request,
    Text,
    Usage,
    shorten,
)
from ..calling import as_text
from ..chat_format import Malformed, read_usage
from ..http import HttpFailure, Reply
from ..http_model import refuse_options
from ..inline_media import from_base64, mapping_in, playable

SAMPLING = (
    "top_p",
    "top_k",
    "min_p",
    "stop",
    "logprobs",
    "frequency_penalty",
    "presence_penalty",
)


def modalities(
    produces: Sequence[str],
    voice: str,
    audio_format: str,
) -> dict[str, Any]:
    """Return the fields of a chat request that request audio or images in addition to text."""
    kinds = list(dict.fromkeys(("text", *produces)))
    fields: dict[str, Any] = {"modalities": kinds}
    if "audio" in produces:
        fields["audio"] = {"voice": voice, "format": audio_format}
    return fields


def image_fields(
    name: str,
    request: Request,
    *,
    inline: bool,
) -> dict[str, Any]:
    """Return the body of an image generation request.

    `inline` requests the image bytes instead of a URL; the public service always sends bytes.
    """
    refuse_options(request, SAMPLING, "the images endpoint")
    fields: dict[str, Any] = {
        "model": name,
        "prompt": as_text(request),
        "n": request.options.n,
    }
    if request.seed is None:
        seed = request.options.seed
    else:
        seed = request.seed
    if inline:
        fields |= {"response_format": "b64_json"} | (
            {"seed": seed} if seed is not None else {}
        )
    return fields


def image_form(
    fields: Mapping[str, Any],
    images: Sequence[Media],
) -> tuple[bytes, str]:
    """Return an image editing request as a multipart form and its content type."""
    if len(images) == 1:
        name = "image"
    else:
        name = "image[]"
    return form(fields, [(name, image) for image in images])


def read_images(answer: object) -> Output:
    """Return the output of an image request, with one candidate per image."""
    body = mapping_in(answer)
    images = body.get("data")
    if not isinstance(images, Sequence) or not images:
        raise Malformed(f"the answer has no `data`: {shorten(answer)}")
    if any(
        not isinstance(image, Mapping) or not isinstance(image.get("b64_json"), str)
        for image in images
    ):
        message = 'the endpoint gave an address instead of an image; fix: -a \'body={"response_format": "b64_json"}\''
        raise HttpFailure("bad_response", message, retryable=False)
    candidates = tuple(
        Candidate((from_base64(Image, image["b64_json"]),), "stop") for image in images
    )
    return Output(candidates, usage=_usage(body.get("usage")))


def speech_fields(
    name: str,
    request: Request,
    voice: str,
    audio_format: str,
) -> dict[str, Any]:
    """Return the body of a speech request. System text becomes the speaking instructions."""
    refuse_options(request, SAMPLING, "the speech endpoint")
    manner = " ".join(
        message.text for message in request.messages if message.role == "system"
    )
    text = "\n".join(
        m.text for m in request.messages if m.role != "system" and m.parts is not None
    )
    fields = {
        "model": name,
        "input": text,
        "voice": voice,
        "response_format": audio_format,
    }
    return {**fields, "instructions": manner} if manner else fields


def read_audio(reply: Reply, audio_format: str) -> Output:
    """Return the output of a reply whose body is an audio file."""
    if not reply.body or reply.headers.get("content-type", "").startswith(
        "application/json"
    ):
        raise Malformed(f"the answer holds no audio clip: {shorten(reply.body)}")
    return Output((Candidate((playable(Audio(reply.body), audio_format),), "stop"),))


def audio_form(
    name: str,
    request: Request,
    more: Mapping[str, Any],
) -> tuple[bytes, str]:
    """Return a transcription request as a multipart form and its content type.

    Other text in the prompt is not sent: the endpoint would take it for preceding speech, not for an instruction.
    """
    refuse_options(request, SAMPLING, "the transcriptions endpoint")
    clips = [medium for medium in request.prompt.media if isinstance(medium, Audio)]
    if len(clips) != 1:
        message = f"the transcriptions endpoint takes one audio clip, the prompt has {len(clips)}"
        raise HttpFailure("http", message, retryable=False)
    fields: dict[str, Any] = {"model": name, "response_format": "json"}
    if request.options.temperature is not None:
        fields["temperature"] = request.options.temperature
    return form({**fields, **more}, [("file", clips[0])])


def read_transcript(answer: object, request: Request) -> Output:
    """Return the output of a transcription. Its details record if text of the prompt was not sent."""
    if not isinstance(answer, Mapping) or not isinstance(answer.get("text"), str):
        raise Malformed(f"the answer has no `text`: {shorten(answer)}")
    if any(message.text for message in request.messages):
        left_out = {"not_sent": ["text"]}
    else:
        left_out = {}
    usage = _usage(answer.get("usage"))
    return Output(
        (Candidate((Text(answer["text"]),), "stop"),),
        usage=usage,
        details=left_out,
    )


def form(
    fields: Mapping[str, Any],
    files: Iterable[tuple[str, Media]],
) -> tuple[bytes, str]:
    """Build `multipart/form-data`.

    The boundary is a digest of the content, so the same content gives the same bytes.
    """
    pieces = [
        (f'form-data; name="{name}"', "", _plain(value).encode())
        for name, value in fields.items()
        if value is not None
    ]
    for number, (name, medium) in enumerate(files):
        kind = medium.sent_format
        disposition = (
            f'form-data; name="{name}"; filename="{medium.kind}{number}.{kind}"'
        )
        pieces.append(
            (disposition, f"Content-Type: {medium.kind}/{kind}\r\n", medium.data())
        )
    boundary = hashlib.sha256(b"\0".join(data for _, _, data in pieces)).hexdigest()[
        :32
    ]
    body = b"".join(
        f"--{boundary}\r\nContent-Disposition: {disposition}\r\n{kind}\r\n".encode()
        + data
        + b"\r\n"
        for disposition, kind, data in pieces
    )
    return (
        body + f"--{boundary}--\r\n".encode(),
        f"multipart/form-data; boundary={boundary}",
    )


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _usage(usage: object) -> Usage | None:
    """Return the token counts of a reply; None if the endpoint reports seconds instead of tokens."""
    if isinstance(usage, Mapping) and "input_tokens" in usage:
        return read_usage(usage, "input", "output")
    return None
