"""Endpoint throughput: a server that takes 200 ms for every answer, and who keeps it busy at what cost.

Each client is a process of its own that reads the same rows, asks, scores by exact match and writes a line a sample:
bare ones by hand with aiohttp, httpx, asyncio's streams and our own client (`models/http.py`), and `assay run`. `span`
is first question to last answer as the server saw it; `ideal` is samples x latency / concurrency.

    python bench/endpoint.py [--samples 2000] [--latency 0.2] [--concurrency 64 256] [--repeats 3]
"""

import argparse
import asyncio
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from measured import ASSAY
from overhead import write_rows

CLIENTS = ("aiohttp", "httpx", "streams", "own", "assay")
ANSWER = json.dumps(
    {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "fixed",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "42"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 60, "completion_tokens": 1, "total_tokens": 61},
    }
).encode()
BARE = """
import asyncio, msgspec, sys
kind, data, out, port, concurrency = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
URL = f"http://127.0.0.1:{port}/v1/chat/completions"
encode, decode = msgspec.json.encode, msgspec.json.decode
JSON = {"Content-Type": "application/json"}

class Streams:
    async def __aenter__(self):
        self.idle = []
        return self
    async def __aexit__(self, *_):
        for _, writer in self.idle:
            writer.close()
    async def post(self, body):
        reader, writer = self.idle.pop() if self.idle else await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /v1/chat/completions HTTP/1.1\\r\\nHost: x\\r\\nContent-Type: application/json\\r\\n"
                     b"Content-Length: %d\\r\\n\\r\\n%b" % (len(body), body))
        head = await reader.readuntil(b"\\r\\n\\r\\n")
        length = next(int(line[15:]) for line in head.split(b"\\r\\n") if line.lower().startswith(b"content-length:"))
        answer = await reader.readexactly(length)
        self.idle.append((reader, writer))
        return answer

def client():
    if kind == "streams":
        session = Streams()
        return session, session.post
    if kind == "aiohttp":
        import aiohttp
        session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        async def post(body):
            async with session.post(URL, data=body, headers=JSON) as response:
                return await response.read()
        return session, post
    if kind == "own":
        import contextlib
        from assay.models.http import Client
        own = Client()
        async def post(body):
            return (await own.send(URL, body, {})).body
        return contextlib.AsyncExitStack(), post
    import httpx
    session = httpx.AsyncClient(limits=httpx.Limits(max_connections=None, max_keepalive_connections=None), timeout=60)
    async def post(body):
        return (await session.post(URL, content=body, headers=JSON)).content
    return session, post

async def main():
    session, post = client()
    with open(data, "rb") as rows, open(out, "wb") as written:
        async def worker():
            for line in rows:
                row = decode(line)
                messages = [{"role": "user", "content": row["question"]}]
                answer = decode(await post(encode({"model": "fixed", "messages": messages})))
                text = answer["choices"][0]["message"]["content"]
                score = text.strip() == row["answer"].strip()
                line = {"id": row["id"], "messages": messages, "output": answer, "score": score}
                written.write(encode(line) + b"\\n")
        async with session:
            await asyncio.gather(*[worker() for _ in range(concurrency)])
asyncio.run(main())
"""


class FixedLatency(asyncio.Protocol):
    """Answers every POST after the latency; `GET /stats` tells and clears what was seen."""

    latency = 0.2
    first, last, asked, most, flying = 0.0, 0.0, 0, 0, 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.received = bytearray()

    def data_received(self, data: bytes) -> None:
        """Split the received bytes into complete requests."""
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.received[:end]).lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self.received) < end + 4 + length:
                return
            del self.received[: end + 4 + length]
            self.handle(head)

    def handle(self, head: bytes) -> None:
        """Answers at once or later."""
        shared = FixedLatency
        if head.startswith(b"get /stats"):
            stats = {
                "span": shared.last - shared.first,
                "asked": shared.asked,
                "most": shared.most,
            }
            shared.first, shared.last, shared.asked, shared.most = 0.0, 0.0, 0, 0
            self.write(json.dumps(stats).encode())
            return
        shared.first = shared.first or time.perf_counter()
        shared.asked += 1
        shared.flying += 1
        shared.most = max(shared.most, shared.flying)
        asyncio.get_running_loop().call_later(shared.latency, self.answer)

    def answer(self) -> None:
        """One answer is out."""
        FixedLatency.flying -= 1
        FixedLatency.last = time.perf_counter()
        self.write(ANSWER)

    def write(self, body: bytes) -> None:
        """Return a complete response."""
        head = (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            % len(body)
        )
        self.transport.write(head + body)


async def serve(latency: float) -> None:
    """Serve until killed; prints the port."""
    FixedLatency.latency = latency
    server = await asyncio.get_running_loop().create_server(
        FixedLatency, "127.0.0.1", 0, backlog=2048
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@dataclass(frozen=True)
class Cost:
    """What one client took."""

    span: float
    cpu: float
    wall: float
    most: int


def measure(command: list[str], port: int, samples: int) -> Cost:
    """Run one client to its end."""
    env = {**os.environ, "OPENAI_API_KEY": "none", "NO_PROXY": "127.0.0.1"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    stats = f"http://127.0.0.1:{port}/stats"
    urllib.request.urlopen(stats).read()
    started = time.perf_counter()
    running = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env
    )
    assert running.stderr is not None
    said = running.stderr.read()
    _, status, used = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    seen = json.loads(urllib.request.urlopen(stats).read())
    if running.returncode or seen["asked"] != samples:
        raise SystemExit(
            f"{' '.join(command)}: {running.returncode}, {seen}: {said[-400:].decode()}"
        )
    return Cost(seen["span"], used.ru_utime + used.ru_stime, wall, seen["most"])


def main() -> None:
    """Print a row per client and concurrency: medians of the repeats, with clients taking turns."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--samples", type=int, default=2000)
    arguments.add_argument("--latency", type=float, default=0.2)
    arguments.add_argument("--concurrency", type=int, nargs="+", default=[64, 256])
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument(
        "--clients", nargs="+", default=list(CLIENTS), choices=CLIENTS
    )
    arguments.add_argument("--serve", action="store_true", help="only the server")
    given = arguments.parse_args()
    if given.serve:
        asyncio.run(serve(given.latency))
        return
    folder = Path(tempfile.mkdtemp())
    (folder / "bare.py").write_text(BARE)
    write_rows(folder / "rows.jsonl", given.samples)
    clients = [
        name
        for name in given.clients
        if name in ("streams", "own", "assay") or importlib.util.find_spec(name)
    ]
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve", "--latency", str(given.latency)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    port = int(server.stdout.readline())
    try:
        print(
            "| client | concurrency | ideal s | span s | ideal / span | CPU s | ms a sample | whole command s |"
        )
        print("|---|---|---|---|---|---|---|---|")
        for concurrency in given.concurrency:
            costs: dict[str, list[Cost]] = {name: [] for name in clients}
            for _ in range(given.repeats):
                for name in clients:
                    shutil.rmtree(folder / "run", ignore_errors=True)
                    costs[name].append(
                        measure(
                            command(name, folder, port, concurrency),
                            port,
                            given.samples,
                        )
                    )
            for name in clients:
                print(
                    row(name, costs[name], given.samples, concurrency, given.latency),
                    flush=True,
                )
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(folder)


def command(name: str, folder: Path, port: int, concurrency: int) -> list[str]:
    """How a client is started."""
    rows = str(folder / "rows.jsonl")
    if name != "assay":
        return [
            sys.executable,
            str(folder / "bare.py"),
            name,
            rows,
            str(folder / "out"),
            str(port),
            str(concurrency),
        ]
    model = [
        "--model",
        "openai/fixed",
        "--base_url",
        f"http://127.0.0.1:{port}/v1",
        "--concurrency",
        str(concurrency),
    ]
    return [
        *ASSAY,
        "run",
        rows,
        *model,
        "--scorer",
        "exact_match",
        "-o",
        str(folder / "run"),
    ]


def row(
    name: str, costs: list[Cost], samples: int, concurrency: int, latency: float
) -> str:
    """One line of the table."""
    ideal = samples * latency / concurrency
    span, cpu, wall = (
        statistics.median(getattr(cost, part) for cost in costs)
        for part in ("span", "cpu", "wall")
    )
    spans = ", ".join(f"{cost.span:.2f}" for cost in costs)
    return (
        f"| {name} | {concurrency} | {ideal:.2f} | {span:.2f} ({spans}) | {ideal / span:.3f} | {cpu:.2f} "
        f"| {cpu / samples * 1000:.2f} | {wall:.2f} |"
    )


if __name__ == "__main__":
    main()
