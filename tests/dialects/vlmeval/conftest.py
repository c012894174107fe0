"""Fixtures: an `$LMUData` of one's own, pictures, tables, user files, runs."""

import base64
import io
import json
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from textwrap import dedent

import pytest
from http_thread import in_a_thread
from PIL import Image as pillow

from assay.dialects.vlmeval.vlmeval_toolkit import supported_VLM
from assay.runner.run import run as run_assay

pytest.importorskip("pandas")
pytest.importorskip("openpyxl")

EARLY_MODEL = """
    class Reader:
        '''Answers with the text that the first pixel's red says.'''
        CALLS = []

        def generate(self, image_path, prompt, dataset=None):
            from PIL import Image
            self.CALLS.append((image_path, prompt, dataset))
            return {ANSWERS}[Image.open(image_path).convert("RGB").getpixel((0, 0))[0]]
"""


@pytest.fixture(autouse=True)
def lmu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    root = tmp_path / "LMUData"
    root.mkdir()
    monkeypatch.setenv("LMUData", str(root))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield root
    supported_VLM.clear()


@pytest.fixture
def picture() -> Callable[..., str]:
    def make(red: int, mode: str = "RGB") -> str:
        buffer = io.BytesIO()
        colour = (red, 0, 0) if mode == "RGB" else (red, 0, 0, 255)
        pillow.new(mode, (8, 8), colour).save(buffer, "PNG")
        return base64.b64encode(buffer.getvalue()).decode()

    return make


@pytest.fixture
def table(lmu: Path) -> Callable[..., Path]:
    def make(name: str, header: str, rows: Sequence[Sequence[object]]) -> Path:
        path = lmu / f"{name}.tsv"
        lines = ["\t".join(header.split()), *("\t".join(map(str, row)) for row in rows)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return make


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, str], str]:
    def make(name: str, source: str) -> str:
        path = tmp_path / name
        path.write_text(dedent(source))
        return str(path)

    return make


@pytest.fixture
def early_model(file: Callable[[str, str], str]) -> Callable[[dict[int, str]], str]:
    def make(answers: dict[int, str]) -> str:
        return (
            file("early_model.py", EARLY_MODEL.replace("{ANSWERS}", repr(answers)))
            + ":Reader"
        )

    return make


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., object]:
    def make(task: object, model: object, **settings: object):
        return run_assay(
            str(task),
            model=model,
            output=str(settings.pop("output", tmp_path / "run")),
            **settings,
        )

    return make


class Endpoint(BaseHTTPRequestHandler):
    """An OpenAI-compatible server: answers as the server's `answer` says, and keeps what it was asked."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            server.seen.append((self.path, dict(self.headers), body))
            server.busy += 1
            server.most = max(server.most, server.busy)
        if server.meet is not None:
            server.meet.wait(timeout=20)
        text = server.answer(body)
        with server.lock:
            server.busy -= 1
        message = {"role": "assistant", "content": text}
        reply = json.dumps(
            {"choices": [{"message": message, "finish_reason": "stop"}]}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch):
    proxies = ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "LOCAL_LLM", *proxies):
        monkeypatch.delenv(name, raising=False)
    with in_a_thread(Endpoint) as server:
        server.lock, server.seen, server.busy, server.most, server.meet = (
            threading.Lock(),
            [],
            0,
            0,
            None,
        )
        server.answer = lambda body: "A"
        server.url = f"http://127.0.0.1:{server.server_port}/v1"
        yield server
