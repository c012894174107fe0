"""A loopback server with the batch APIs of OpenAI, Anthropic and Gemini, and the faults that batches meet.

Each fault of `PASSING_FAULTS` happens once, those of `FINAL_FAULTS` stay. `sent` counts how often each question was
part of a batch, and `paid` how often it was answered there.
"""

import json
import re
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

PASSING_FAULTS = (
    "create_reply_lost",
    "create_500_before",
    "create_500_after",
    "create_429",
    "upload_reset",
    "upload_503",
    "list_500",
    "poll_500",
    "poll_reset",
    "poll_not_json",
    "download_reset",
    "download_cut",
    "some_expired",
    "some_errored",
    "some_missing",
    "some_unknown",
    "some_repeated",
    "some_broken_lines",
    "whole_batch_expired",
    "quota_refusal",
)
"""After these every sample still gets its answer."""
FINAL_FAULTS = (
    "no_batches",
    "key_refused",
    "batch_forgotten",
    "results_gone",
    "batch_refused",
    "batch_cancelled",
)
"""These end the run with one line."""
OVERLOADED = {"error": {"message": "please wait", "type": "rate_limit_error"}}


@dataclass
class HostedBatch:
    """A batch on the server."""

    id: str
    rows: list
    """Custom id and body of each request."""
    metadata: dict = field(default_factory=dict)
    input_file_id: str = ""
    polls: int = 0
    state: str = "running"
    results: list = field(default_factory=list)


class BatchHost:
    """What the server knows, and how it misbehaves."""

    def __init__(self, *faults, polls=2, key="secret-key"):
        self.faults = set(faults)
        self.polls = polls
        """Looks at a batch until it has ended; None if it never ends."""
        self.key = key
        self.calls_tools = False
        """Whether the model calls the tool `add` before it answers."""
        self.files = {}
        self.batches = []
        self.paid = Counter()
        self.singles = Counter()
        self.requests = []
        """Method and path of every call."""
        self.lock = threading.Lock()

    def happens(self, fault):
        """Whether a fault happens now; it does not happen again."""
        if fault not in self.faults:
            return False
        self.faults.discard(fault)
        return True

    def add_batch(self, rows, **more):
        """Create a batch, and pay for its requests unless the service refuses it whole."""
        batch = HostedBatch(f"batch_{len(self.batches) + 1}", rows, **more)
        self.batches.append(batch)
        if self.happens("quota_refusal"):
            batch.state = "quota"
        elif "batch_refused" in self.faults:
            batch.state = "refused"
        return batch

    @property
    def sent(self):
        """How often each question was part of a batch that the service accepted."""
        accepted = [b for b in self.batches if b.state not in ("quota", "refused")]
        return Counter(question_of(body) for b in accepted for _, body in b.rows)

    def batch(self, batch_id):
        """Return a batch by id; None if the server does not know it."""
        if "batch_forgotten" in self.faults:
            return None
        return next((b for b in self.batches if b.id == batch_id), None)

    def look_at(self, batch):
        """Let a batch make progress, as it does between two polls."""
        batch.polls += 1
        if batch.state == "running" and "batch_cancelled" in self.faults:
            batch.state = "cancelled"
            self.run(batch, most=1)
        has_time = self.polls is not None and batch.polls >= self.polls
        if batch.state == "running" and has_time:
            batch.state = "ended"
            self.run(batch)

    def run(self, batch, most=None):
        """Answer the requests of a batch."""
        expires_all = self.happens("whole_batch_expired")
        expired = {0, 1} if self.happens("some_expired") else set()
        errored = {1} if self.happens("some_errored") else set()
        missing = {2} if self.happens("some_missing") else set()
        for number, (custom_id, body) in enumerate(batch.rows):
            if number in missing:
                continue
            if most is not None and number >= most:
                batch.results.append((custom_id, "canceled", None))
            elif expires_all or number in expired:
                batch.results.append((custom_id, "expired", None))
            elif number in errored:
                batch.results.append((custom_id, "errored", None))
            else:
                batch.results.append((custom_id, "succeeded", answer_to(body)))
                self.paid[question_of(body)] += 1
        if self.happens("some_unknown"):
            batch.results.append(("0000-7", "succeeded", "unknown"))
        if self.happens("some_repeated"):
            batch.results.append((batch.results[0][0], "succeeded", "wrong"))


def question_of(body):
    """Return the last text of a request of any of the APIs."""
    turns = body.get("messages") or body.get("contents") or body.get("input")
    last = turns[-1]
    content = last.get("content") or last.get("parts")
    return content if isinstance(content, str) else content[-1]["text"]


def answer_to(body):
    """Return the number in the question."""
    return re.findall(r"\d+", question_of(body))[-1]


def handler_of(host):  # noqa: C901 - a class, not one function
    """Return the request handler of a host."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            """Print nothing."""

        def do_GET(self):
            self.answer("GET", b"")

        def do_POST(self):
            length = int(self.headers.get("Content-Length") or 0)
            self.answer("POST", self.rfile.read(length))

        def answer(self, method, data):
            url = urlsplit(self.path)
            self.query = {k: v[-1] for k, v in parse_qs(url.query).items()}
            with host.lock:
                host.requests.append((method, url.path))
                if "key_refused" in host.faults:
                    self.json({"error": {"message": "bad key"}}, 401)
                    return
                if self.reset_by(url.path):
                    return
                for pattern, name in ROUTES:
                    match = re.fullmatch(pattern, f"{method} {url.path}")
                    if match and not ("no_batches" in host.faults and "batch" in name):
                        getattr(self, name)(data, *match.groups())
                        return
                self.json({"error": {"message": f"no {url.path}"}}, 404)

        def reset_by(self, path):
            """Close the connection without an answer, if a fault says so."""
            resets = {
                "upload_reset": path.endswith("/files"),
                "poll_reset": bool(re.search(r"/batch(es)?/?batch_\d+$", path)),
                "download_reset": path.endswith(("/content", "/results")),
            }
            for fault, applies in resets.items():
                if applies and host.happens(fault):
                    self.close_connection = True
                    self.connection.close()
                    return True
            return False

        def json(self, value, status=200, headers=()):
            self.raw(json.dumps(value).encode(), status, headers)

        def raw(self, data, status=200, headers=(), length=None):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(length or len(data)))
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
            if length:
                self.close_connection = True

        def created(self, make):
            """Create a batch, with the faults of creating."""
            if host.happens("create_429"):
                self.json(OVERLOADED, 429, [("Retry-After", "0.01")])
                return
            if host.happens("create_500_before"):
                self.json({"error": {"message": "try again"}}, 500)
                return
            reply = make()
            if host.happens("create_500_after"):
                self.json({"error": {"message": "try again"}}, 500)
                return
            if host.happens("create_reply_lost"):
                self.close_connection = True
                self.connection.close()
                return
            self.json(reply)

        def polled(self, batch_id, show):
            """Show a batch, with the faults of polling."""
            batch = host.batch(batch_id)
            if batch is None:
                self.json({"error": {"message": "no such batch"}}, 404)
                return
            if host.happens("poll_500"):
                self.json({"error": {"message": "try again"}}, 500)
                return
            if host.happens("poll_not_json"):
                self.raw(b"<html>hello</html>")
                return
            host.look_at(batch)
            self.json(show(batch))

        def listed(self, show, wrap):
            """List the batches, the newest first."""
            if host.happens("list_500"):
                self.json({"error": {"message": "try again"}}, 500)
                return
            self.json(wrap([show(batch) for batch in reversed(host.batches)]))

        def results(self, lines):
            """Send a results file, with the faults of downloading."""
            if "results_gone" in host.faults:
                self.json({"error": {"message": "No such file"}}, 404)
                return
            data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
            if host.happens("some_broken_lines"):
                cut = data.index(b"\n") - 5
                data = data[:cut] + data[cut + 5 :]
            if host.happens("download_cut"):
                self.raw(data[:-9])
                return
            self.raw(data)

        # OpenAI

        def files_upload(self, data):
            if host.happens("upload_503"):
                self.json({"error": {"message": "busy"}}, 503)
                return
            content = data.split(b"application/jsonl\r\n\r\n")[1]
            content = content.rpartition(b"\r\n--assay-")[0]
            name = f"file_{len(host.files) + 1}"
            host.files[name] = [json.loads(line) for line in content.splitlines()]
            self.json({"id": name, "object": "file"})

        def openai_batch_create(self, data):
            asked = json.loads(data)
            lines = host.files[asked["input_file_id"]]
            assert {line["url"] for line in lines} == {asked["endpoint"]}
            rows = [(line["custom_id"], line["body"]) for line in lines]

            def make():
                batch = host.add_batch(
                    rows,
                    metadata=asked["metadata"],
                    input_file_id=asked["input_file_id"],
                )
                return self.openai_batch(batch)

            self.created(make)

        def openai_batch(self, batch):
            states = {
                "running": "in_progress",
                "ended": "completed",
                "quota": "failed",
                "refused": "failed",
            }
            errors = None
            if batch.state == "quota":
                errors = {"data": [{"code": "token_limit_exceeded", "message": "full"}]}
            elif batch.state == "refused":
                errors = {
                    "data": [{"code": "x", "message": "no such model", "line": 1}]
                }
            ended = batch.state in ("ended", "cancelled")
            done = sum(kind == "succeeded" for _, kind, _ in batch.results)
            return {
                "id": batch.id,
                "status": states.get(batch.state, batch.state),
                "errors": errors,
                "metadata": batch.metadata,
                "input_file_id": batch.input_file_id,
                "output_file_id": f"out-{batch.id}" if ended else None,
                "error_file_id": f"err-{batch.id}" if ended else None,
                "request_counts": {
                    "total": len(batch.rows),
                    "completed": done,
                    "failed": len(batch.results) - done,
                },
            }

        def openai_batch_list(self, data):
            def wrap(batches):
                return {"data": batches[: int(self.query.get("limit", 20))]}

            self.listed(self.openai_batch, wrap)

        def openai_batch_poll(self, data, batch_id):
            self.polled(batch_id, self.openai_batch)

        def openai_batch_content(self, data, kind, batch_id):
            batch = next(b for b in host.batches if b.id == batch_id)
            lines = []
            for custom_id, result, text in batch.results:
                line = {"custom_id": custom_id, "response": None, "error": None}
                if result == "succeeded":
                    body = chat_answer(text)
                    asked = dict(batch.rows).get(custom_id, {})
                    turns = asked.get("messages", [{}])
                    if host.calls_tools and turns[-1].get("role") == "user":
                        body = chat_call(question_of(asked))
                    if batch.rows and "input" in batch.rows[0][1]:
                        body = response_answer(text)
                    line["response"] = {"status_code": 200, "body": body}
                elif result == "errored":
                    line["response"] = {"status_code": 500, "body": OVERLOADED}
                else:
                    code = f"batch_{result}"
                    line["error"] = {"code": code, "message": "not run"}
                if (result == "succeeded") == (kind == "out"):
                    lines.append(line)
            self.results(lines)

        def openai_batch_cancel(self, data, batch_id):
            batch = host.batch(batch_id)
            batch.state = "cancelled"
            self.json(self.openai_batch(batch))

        def chat(self, data):
            body = json.loads(data)
            host.singles[question_of(body)] += 1
            self.json(chat_answer(answer_to(body)))

        # Anthropic

        def anthropic_batch_create(self, data):
            if host.happens("quota_refusal"):
                self.json(OVERLOADED, 429, [("Retry-After", "0.01")])
                return
            asked = json.loads(data)["requests"]
            rows = [(entry["custom_id"], entry["params"]) for entry in asked]
            self.created(lambda: self.anthropic_batch(host.add_batch(rows)))

        def anthropic_batch(self, batch):
            kinds = Counter(kind for _, kind, _ in batch.results)
            ended = batch.state in ("ended", "cancelled")
            counts = {
                name: kinds[name]
                for name in ("succeeded", "errored", "canceled", "expired")
            }
            counts["processing"] = len(batch.rows) - sum(counts.values())
            return {
                "id": batch.id,
                "processing_status": "ended" if ended else "in_progress",
                "cancel_initiated_at": "now" if batch.state == "cancelled" else None,
                "request_counts": counts,
                "results_url": "http://elsewhere/results" if ended else None,
            }

        def anthropic_batch_list(self, data):
            def wrap(batches):
                return {"data": batches[: int(self.query.get("limit", 20))]}

            self.listed(self.anthropic_batch, wrap)

        def anthropic_batch_poll(self, data, batch_id):
            self.polled(batch_id, self.anthropic_batch)

        def anthropic_batch_results(self, data, batch_id):
            batch = next(b for b in host.batches if b.id == batch_id)
            lines = []
            for custom_id, kind, text in batch.results:
                result = {"type": kind}
                if kind == "succeeded":
                    result["message"] = message_answer(text)
                elif kind == "errored":
                    error = {"type": "api_error", "message": "try again"}
                    result["error"] = {"type": "error", "error": error}
                lines.append({"custom_id": custom_id, "result": result})
            self.results(lines)

        def anthropic_batch_cancel(self, data, batch_id):
            batch = host.batch(batch_id)
            batch.state = "cancelled"
            self.json(self.anthropic_batch(batch))

        # Gemini

        def gemini_batch_create(self, data):
            asked = json.loads(data)["batch"]
            entries = asked["inputConfig"]["requests"]["requests"]
            rows = [(entry["metadata"]["key"], entry["request"]) for entry in entries]

            def make():
                metadata = {"name": asked["displayName"]}
                return self.gemini_batch(host.add_batch(rows, metadata=metadata))

            self.created(make)

        def gemini_batch(self, batch, with_results=False):
            states = {
                "running": "RUNNING",
                "ended": "SUCCEEDED",
                "cancelled": "CANCELLED",
                "quota": "FAILED",
                "refused": "FAILED",
            }
            failed = sum(kind != "succeeded" for _, kind, _ in batch.results)
            succeeded = len(batch.results) - failed
            shown = {
                "name": f"batches/{batch.id}",
                "done": batch.state != "running",
                "metadata": {
                    "displayName": batch.metadata["name"],
                    "state": f"BATCH_STATE_{states[batch.state]}",
                    "batchStats": {
                        "requestCount": str(len(batch.rows)),
                        "successfulRequestCount": str(succeeded),
                        "failedRequestCount": str(failed),
                    },
                },
            }
            if batch.state in ("quota", "refused"):
                code = 8 if batch.state == "quota" else 3
                message = "full" if batch.state == "quota" else "no such model"
                shown["error"] = {"code": code, "message": message}
            elif with_results and batch.state != "running":
                replies = [self.gemini_reply(*entry) for entry in batch.results]
                if host.happens("some_broken_lines"):
                    replies[0] = None
                if "results_gone" not in host.faults:
                    inlined = {"inlinedResponses": replies}
                    shown["response"] = {"inlinedResponses": inlined}
            return shown

        def gemini_reply(self, custom_id, kind, text):
            reply = {"metadata": {"key": custom_id}}
            if kind == "succeeded":
                reply["response"] = gemini_answer(text)
            elif kind == "errored":
                reply["error"] = {"code": 13, "message": "try again"}
            return reply

        def gemini_batch_list(self, data):
            def wrap(batches):
                return {"operations": batches[: int(self.query.get("pageSize", 20))]}

            self.listed(self.gemini_batch, wrap)

        def gemini_batch_poll(self, data, batch_id):
            self.polled(batch_id, lambda batch: self.gemini_batch(batch, True))

        def gemini_batch_cancel(self, data, batch_id):
            host.batch(batch_id).state = "cancelled"
            self.json({})

    return Handler


ROUTES = (
    (r"POST /openai/v1/files", "files_upload"),
    (r"POST /openai/v1/chat/completions", "chat"),
    (r"POST /openai/v1/batches", "openai_batch_create"),
    (r"GET /openai/v1/batches", "openai_batch_list"),
    (r"GET /openai/v1/batches/(batch_\d+)", "openai_batch_poll"),
    (r"POST /openai/v1/batches/(batch_\d+)/cancel", "openai_batch_cancel"),
    (r"GET /openai/v1/files/(out|err)-(batch_\d+)/content", "openai_batch_content"),
    (r"POST /anthropic/v1/messages/batches", "anthropic_batch_create"),
    (r"GET /anthropic/v1/messages/batches", "anthropic_batch_list"),
    (r"GET /anthropic/v1/messages/batches/(batch_\d+)", "anthropic_batch_poll"),
    (
        r"GET /anthropic/v1/messages/batches/(batch_\d+)/results",
        "anthropic_batch_results",
    ),
    (
        r"POST /anthropic/v1/messages/batches/(batch_\d+)/cancel",
        "anthropic_batch_cancel",
    ),
    (r"POST /gemini/v1beta/models/m:batchGenerateContent", "gemini_batch_create"),
    (r"GET /gemini/v1beta/batches", "gemini_batch_list"),
    (r"GET /gemini/v1beta/batches/(batch_\d+)", "gemini_batch_poll"),
    (r"POST /gemini/v1beta/batches/(batch_\d+):cancel", "gemini_batch_cancel"),
)


def chat_answer(text):
    """Return a chat completion."""
    message = {
        "role": "assistant",
        "content": text,
        "reasoning_content": "counting",
    }
    return {
        "model": "m",
        "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2},
    }


def chat_call(question):
    """Return a chat completion that calls the tool `add` with the numbers in the question."""
    x, y = re.findall(r"\d+", question)
    function = {"name": "add", "arguments": json.dumps({"x": int(x), "y": int(y)})}
    call = {"id": f"call_{x}", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {
        "model": "m",
        "choices": [{"message": message, "finish_reason": "tool_calls"}],
    }


def response_answer(text):
    """Return a response of the Responses API."""
    piece = {"type": "output_text", "text": text}
    return {
        "model": "m",
        "status": "completed",
        "output": [{"type": "message", "content": [piece]}],
        "usage": {"input_tokens": 10, "output_tokens": 2},
    }


def message_answer(text):
    """Return a message of the Messages API."""
    return {
        "model": "m",
        "content": [
            {"type": "thinking", "thinking": "counting"},
            {"type": "text", "text": text},
        ],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 2},
    }


def gemini_answer(text):
    """Return an answer of generateContent."""
    parts = [{"text": "counting", "thought": True}, {"text": text}]
    return {
        "modelVersion": "m",
        "candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2},
    }
