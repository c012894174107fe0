"""The program that runs in a worker process: it builds a class once and answers lines of JSON with lines of JSON.

Run by path with any Python from 3.8 on; needs only the standard library, and nothing of assay. One object a line:

    in   {"hello": 1, "file": "detector.py", "class": "Detector", "options": {"model": "…"}, "memory": 4294967296}
    out  {"hello": 1, "ready": true}                       or  {"hello": 1, "error": "ImportError: no torch"}
    in   {"id": 7, "messages": [{"role": "user", "content": [{"type": "image", "path": "…"}, {"type": "text", …}]}]}
    out  {"id": 7, "answer": {"detections": …}}            or  {"id": 7, "error": "KeyError: 'cat' (detector.py:12)"}
    in   {"ping": 3}
    out  {"pong": 3}

A medium has `path` or `base64`. The worker ends when its input ends. Everything that libraries print goes to stderr.
"""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage


PROTOCOL = 1


class Request:
    """One request to a worker."""

    def __init__(self, plain: dict[str, Any]) -> None:
        self.messages: list[dict[str, Any]] = plain["messages"]
        """Turns with `role` and `content`, a list of parts: `{"type": "text", "text": …}`, `{"type": "image", …}`."""
        self.options: dict[str, Any] = plain.get("options") or {}
        """The generation options that were set. A judge that writes text may use `temperature`."""

    @property
    def text(self) -> str:
        """The text of the last turn."""
        return "".join(
            part["text"]
            for part in self.messages[-1]["content"]
            if part["type"] == "text"
        )

    @property
    def asked(self) -> dict[str, Any]:
        """The text of the last turn, parsed as a JSON object; empty if it is not one."""
        try:
            value = json.loads(self.text)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    def media(self, kind: str) -> list[bytes]:
        """Return the bytes of all media of a kind, in order."""
        parts = (part for message in self.messages for part in message["content"])
        return [_bytes_of(part) for part in parts if part["type"] == kind]

    def images(self) -> list[Any]:
        """Return the images as 8-bit RGB Pillow images, upright, with transparency over white."""
        return [_image(data) for data in self.media("image")]

    def image(self) -> PillowImage:
        """Return the only image of the request."""
        images = self.images()
        if len(images) != 1:
            raise ValueError(f"takes one image at a time, got {len(images)}")
        image: PillowImage = images[0]
        return image


def _bytes_of(part: dict[str, Any]) -> bytes:
    if "path" in part:
        with open(part["path"], "rb") as file:
            return file.read()
    return base64.b64decode(part["base64"], validate=True)


def _image(data: bytes) -> PillowImage:
    from PIL import Image, ImageOps

    with Image.open(io.BytesIO(data)) as opened:
        opened.load()
        upright = ImageOps.exif_transpose(opened)
    if upright.mode in ("RGBA", "LA", "PA") or "transparency" in upright.info:
        layer = upright.convert("RGBA")
        return Image.alpha_composite(
            Image.new("RGBA", layer.size, (255, 255, 255, 255)), layer
        ).convert("RGB")
    return upright.convert("RGB")


def load(path: str, name: str) -> type:
    """Load a class from a file. The file runs as a module with a unique name."""
    spec = importlib.util.spec_from_file_location(
        "worker_" + os.path.basename(path)[:-3], path
    )
    if spec is None or spec.loader is None:
        raise ImportError("cannot load " + path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    kind: type = getattr(module, name)
    return kind


def described(error: BaseException) -> str:
    """Return an error as text, with its innermost line outside libraries: `KeyError: 'cat' (detector.py:12)`."""
    location = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if (
            "site-packages" not in frame.filename
            and frame.filename != __file__
            and frame.filename[:1] != "<"
        ):
            location = f" ({os.path.basename(frame.filename)}:{frame.lineno})"
    return f"{type(error).__name__}: {' '.join(str(error).split())[:1000]}{location}"


def plain(value: object) -> object:
    """Convert numbers and arrays of numpy and torch to JSON values."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError("an answer must be JSON, not a " + type(value).__name__)


def limit_memory(size: int | None) -> None:
    """Limit the address space, so that a request that needs more fails here instead of being killed by the system."""
    if not size:
        return
    try:
        import resource
    except ImportError:  # this system has no such limit
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard != resource.RLIM_INFINITY:
        size = min(size, hard)
    resource.setrlimit(resource.RLIMIT_AS, (size, hard))


def serve() -> None:
    """Answer messages until the input ends. The first message builds the class."""
    # Reserve the pipe for replies: output of libraries must not mix with them.
    out = os.fdopen(
        os.dup(1),
        "w",
        encoding="ascii",
        newline="\n",
    )
    os.dup2(2, 1)
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [
        entry for entry in sys.path if os.path.abspath(entry or ".") != folder
    ]

    def say(message: dict[str, Any]) -> None:
        out.write(
            json.dumps(
                message,
                default=plain,
                allow_nan=False,
            )
            + "\n"
        )
        out.flush()

    worker: Any = None
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "hello" in message:
            try:
                if message["hello"] != PROTOCOL:
                    raise ValueError(
                        f"this worker speaks protocol {PROTOCOL}, the first message has {message['hello']}"
                    )
                limit_memory(message.get("memory"))
                worker = load(message["file"], message["class"])(**message["options"])
                say({"hello": PROTOCOL, "ready": True})
            except Exception as error:  # noqa: BLE001 - reported to the parent process
                traceback.print_exc()
                say({"hello": PROTOCOL, "error": described(error)})
        elif "ping" in message:
            say({"pong": message["ping"]})
        else:
            try:
                if worker is None:
                    raise RuntimeError("a request came before the first message")
                say({"id": message["id"], "answer": worker.answer(Request(message))})
            except Exception as error:  # noqa: BLE001 - the failure of this request alone
                traceback.print_exc()
                words = (
                    "out of memory",
                    "bad_alloc",
                    "bad allocation",
                    "failed to allocate",
                )
                out_of_memory = isinstance(error, MemoryError) or any(
                    word in str(error).lower() for word in words
                )
                kind = "oom" if out_of_memory else "exception"
                say({"id": message["id"], "error": described(error), "kind": kind})


if __name__ == "__main__":
    serve()
