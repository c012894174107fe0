"""A local server for models that live behind a URL."""

import asyncio
import shutil
import ssl
import subprocess

import pytest

from assay.models import build_model


@pytest.fixture
def no_service(monkeypatch):
    """No key, address or proxy from the environment of whoever runs the tests."""
    for name in ("OPENAI", "ANTHROPIC", "GEMINI"):
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


class Service:
    """Answers with the next of its bodies, the last one for ever; remembers what it was asked."""

    def __init__(self, *bodies, status=200, headers=None):
        self.bodies, self.status, self.headers = list(bodies), status, headers
        self.paths, self.asked, self.sent_headers = [], [], []

    async def answer(self, request):
        from aiohttp import web

        self.paths.append(request.path_qs)
        self.sent_headers.append(request.headers)
        if request.content_type == "application/json":
            self.asked.append(await request.json())
        elif request.content_type == "multipart/form-data":
            form = (await request.post()).items()
            self.asked.append(
                [
                    (name, _file(value) if hasattr(value, "file") else value)
                    for name, value in form
                ]
            )
        body = self.bodies.pop(0) if len(self.bodies) > 1 else self.bodies[0]
        if isinstance(body, bytes):
            return web.Response(body=body, status=self.status, headers=self.headers)
        return web.json_response(body, status=self.status, headers=self.headers)


def _file(sent):
    return sent.filename, sent.content_type, sent.file.read()


@pytest.fixture
def service():
    """Makes a `Service`."""
    return Service


@pytest.fixture
def put_to():
    """`put_to(service, "openai/m", request, …, option=value)`: what the model makes of the service's answers."""

    from aiohttp import web
    from aiohttp.test_utils import TestServer

    def put(handler, name, *requests, method="generate", base="/v1", **options):
        async def talk():
            app = web.Application(client_max_size=2**26)
            app.router.add_route("*", "/{path:.*}", getattr(handler, "answer", handler))
            async with TestServer(app) as server:
                model = build_model(
                    name, {"base_url": str(server.make_url(base)), **options}
                )
                try:
                    return [
                        (await getattr(model, method)([request]))[0]
                        for request in requests
                    ]
                finally:
                    if hasattr(model, "close"):
                        await model.close()

        return asyncio.run(talk())

    return put


@pytest.fixture
def certificate(tmp_path):
    """A server's side of TLS as `localhost`, and the file of its authority."""
    if shutil.which("openssl") is None:
        pytest.skip("needs the program openssl to make a certificate")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    return context, tmp_path / "cert.pem"
