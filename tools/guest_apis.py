"""Asks API wrappers of a VLMEvalKit checkout, in place and unchanged, through assay, with an endpoint of this machine.

    python tools/guest_apis.py CHECKOUT

The endpoint speaks OpenAI's chat completions and answers with the number of images it was shown.
"""

import base64
import json
import os
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.guest_worlds import synthetic

WRAPPERS: dict[str, dict[str, Any]] = {
    "gpt:OpenAIWrapper": {"model": "gpt-4o", "api_base": "URL", "key": "sk-none"},
    "siliconflow:SiliconFlowAPI": {
        "model": "deepseek-ai/DeepSeek-V3",
        "api_base": "URL",
        "key": "sk-none",
    },
    "together:TogetherAPI": {"model": "m", "api_base": "URL", "key": "k"},
    "kimivl_api:KimiVLAPIWrapper": {"model": "api-kimi-vl", "key": "k"},
    "lmdeploy:LMDeployWrapper": {"model": "m", "api_base": "URL", "key": "sk-none"},
}


class Endpoint(BaseHTTPRequestHandler):
    """Answers with how many images a question has."""

    def do_POST(self) -> None:
        """One chat completion."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        images = json.dumps(body["messages"]).count('"image_url": {"url"')
        message = {"role": "assistant", "content": f"{images} image"}
        self._reply(
            {
                "choices": [{"message": message, "finish_reason": "stop"}],
                "usage": {"total_tokens": 1},
            }
        )

    def do_GET(self) -> None:
        """Return the available models."""
        self._reply({"data": [{"id": "m"}]})

    def _reply(self, plain: dict[str, Any]) -> None:
        data = json.dumps(plain).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *given: Any) -> None:
        """Nothing."""


def main() -> None:
    """Print each wrapper's answer to an image and a question."""
    checkout = Path(sys.argv[1]).resolve()
    folder = Path(tempfile.mkdtemp(prefix="guest-apis-"))
    os.environ.update(
        LMUData=str(folder), HF_HUB_OFFLINE="1", LMDEPLOY_API_KEY="sk-none"
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1/chat/completions"
    os.environ["KIMI_VL_API_BASE"] = url
    image = folder / "shown.png"
    image.write_bytes(base64.b64decode(synthetic.picture(1, (120, 120))))
    answered = 0
    for wrapper, settings in WRAPPERS.items():
        stem, _, cls = wrapper.partition(":")
        args = {
            name: url if value == "URL" else value for name, value in settings.items()
        }
        try:
            said = asked(
                f"{checkout}/vlmeval/api/{stem}.py:{cls}",
                {**args, "retry": 1, "verbose": False},
                image,
            )
        except Exception as error:  # noqa: BLE001 - whatever a wrapper raises is its outcome
            said = f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"
        answered += said == "1 image"
        print(f"{wrapper:32} {said}", flush=True)
    print(f"{answered} of {len(WRAPPERS)} answered with what the endpoint saw")


def asked(reference: str, args: dict[str, Any], image: Path) -> str:
    """Return the answer of a wrapper, asked as in a run."""
    import assay
    from assay.core import Image, Message, Prompt, Request, Text
    from assay.models import build_model

    del assay
    import asyncio

    model = build_model(reference, args)
    request = Request(
        Prompt((Message("user", (Image(image), Text("How many images?"))),))
    )

    async def ask() -> Any:
        outputs = model.generate([request])
        found = await outputs if asyncio.iscoroutine(outputs) else outputs
        return found[0]

    output = asyncio.run(ask())
    return (
        output.text
        if output.error is None
        else f"{output.error.kind}: {output.error.message[:200]}"
    )


if __name__ == "__main__":
    main()
