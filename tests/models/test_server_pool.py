"""Several servers of one model: `--base_url URL,URL`."""

import json
import threading
import time
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler

import pytest
from tests.shared.http_thread import in_a_thread

import assay
from assay.core import AssayError
from assay.models import build_model


class Replies:
    """A chat server that counts its requests, and may stop answering after some of them."""

    def __init__(self, seconds: float = 0.0, dies_after: int | None = None) -> None:
        self.asked: list[str] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self.seconds = seconds
        self.dies_after = dies_after

    def handler(self) -> type[BaseHTTPRequestHandler]:
        replies = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                body = json.loads(self.rfile.read(size))
                with replies._lock:
                    dies_after = replies.dies_after
                    is_dead = (
                        dies_after is not None and len(replies.asked) >= dies_after
                    )
                    if not is_dead:
                        replies.asked.append(body["messages"][-1]["content"])
                        replies._at_once += 1
                        most = max(replies.most_at_once, replies._at_once)
                        replies.most_at_once = most
                if is_dead:
                    self.close_connection = True
                    self.connection.close()
                    return
                time.sleep(replies.seconds)
                with replies._lock:
                    replies._at_once -= 1
                message = {"role": "assistant", "content": "4"}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                data = json.dumps({"model": "m", "choices": [choice]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        return Handler


@pytest.fixture
def start(no_service):
    """Starts servers and returns their URLs."""
    with ExitStack() as stack:

        def start(*servers: Replies) -> list[str]:
            urls = []
            for replies in servers:
                server = stack.enter_context(in_a_thread(replies.handler()))
                urls.append(f"http://127.0.0.1:{server.server_port}/v1")
            return urls

        yield start


def run(urls, tmp_path, rows=40, **options):
    questions = [{"question": f"{n} + 0?", "answer": "4"} for n in range(rows)]
    task = assay.Task("sums", dataset=questions, scorers=("exact_match",))
    return assay.run(
        task,
        model="openai/m",
        model_args={"base_url": urls},
        output=tmp_path / "run",
        **options,
    )


def test_every_server_is_asked_and_no_question_twice(start, tmp_path):
    first, second = Replies(0.01), Replies(0.01)

    result = run(start(first, second), tmp_path, concurrency=4)

    assert result.status == "complete"
    asked = first.asked + second.asked
    assert len(asked) == len(set(asked)) == 40
    assert min(len(first.asked), len(second.asked)) >= 10


def test_each_server_has_a_limit_of_its_own(start, tmp_path):
    first, second = Replies(0.02), Replies(0.02)

    run(start(first, second), tmp_path, concurrency=3)

    assert first.most_at_once <= 3
    assert second.most_at_once <= 3


def test_when_a_server_dies_the_other_answers_everything(start, tmp_path):
    dying, healthy = Replies(0.005, dies_after=5), Replies(0.005)

    result = run(start(dying, healthy), tmp_path, concurrency=4)

    assert result.status == "complete"
    assert result.results[0].n == 40
    assert len(dying.asked) + len(healthy.asked) == 40


def test_a_server_that_comes_back_is_asked_again(start, tmp_path):
    first, second = Replies(0.0, dies_after=3), Replies(0.06)
    urls = start(first, second)

    def revive() -> None:
        while len(second.asked) < 30:
            time.sleep(0.01)
        first.dies_after = None

    thread = threading.Thread(target=revive, daemon=True)
    thread.start()
    result = run(urls, tmp_path, rows=200, concurrency=2)
    thread.join()

    assert result.status == "complete"
    assert len(first.asked) > 3


def test_the_order_of_the_servers_does_not_change_the_identity(no_service):
    forward = build_model("openai/m", {"base_url": "http://a:1/v1,http://b:2/v1"})
    backward = build_model("openai/m", {"base_url": ["http://b:2/v1", "http://a:1/v1"]})

    assert forward.identity == backward.identity
    assert forward.identity["base_url"] == ["http://a:1/v1", "http://b:2/v1"]


def test_a_server_named_twice_is_an_error(no_service):
    with pytest.raises(AssayError, match="names a:1 twice"):
        build_model("openai/m", {"base_url": "http://a:1/v1,http://a:1/v1"})


def test_a_comma_inside_a_url_does_not_split_it(no_service):
    model = build_model("openai/m", {"base_url": "http://a:1/v1?tags=x,y"})

    assert not hasattr(model, "servers")


def test_the_command_line_takes_several_urls(start, tmp_path, capsys):
    from assay.cli.main import main

    first, second = Replies(), Replies()
    urls = ",".join(start(first, second))
    rows = tmp_path / "rows.jsonl"
    lines = [json.dumps({"question": f"{n}?", "answer": "4"}) for n in range(12)]
    rows.write_text("\n".join(lines), encoding="utf-8")

    code = main(
        f"run {rows} --model openai/m --base_url {urls} -o {tmp_path}/run".split()
    )

    assert code == 0
    assert len(first.asked) + len(second.asked) == 12
    assert first.asked and second.asked


def test_a_password_in_any_of_the_urls_is_refused(no_service):
    urls = "http://a:1/v1,http://user:secret@b:2/v1"

    with pytest.raises(AssayError, match="carries a password") as refusal:
        build_model("openai/m", {"base_url": urls})

    assert "secret" not in str(refusal.value)
