"""Who may ask the viewer, and what its answers forbid."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from made_runs import sums
from starlette.testclient import TestClient

from assay.core import UsageError
from assay.view.guard import Guard, is_loopback
from assay.view.view_server import make_app


@pytest.fixture
def app(tmp_path: Path) -> Guard:
    sums(tmp_path / "run", count=4)
    return make_app(tmp_path)


def client(app: Guard, **more: Any) -> TestClient:
    return TestClient(app, base_url="http://127.0.0.1:7557", **more)


def entered(app: Guard) -> TestClient:
    found = client(app)
    assert (
        found.post(
            "/api/session", content=app.new_token(), headers={"X-Assay": "1"}
        ).status_code
        == 200
    )
    return found


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:80", "localhost:9", "[::1]:7557", "127.9.8.7:1"]
)
def test_names_of_this_machine_are_own(host: str):
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "attacker.invalid",
        "localhost.attacker.invalid",
        "127.0.0.1.attacker.invalid",
        "10.0.0.1",
        "0.0.0.0",
        "attacker@127.0.0.1",
        "localhost@attacker.invalid",
        "[::ffff:8.8.8.8]",
        "127.0.0.1:80:80",
        "2130706433",
        "::1",
        "127.0.0.999",
        "127.0.0.1 ",
        "LOCALHOST.attacker.invalid",
    ],
)
def test_names_that_are_not_this_machine_are_refused(app: Guard, host: str):
    assert not is_loopback(host)

    answer = entered(app).get("/api/runs", headers={"Host": host or "x"})

    assert answer.status_code == 403


@pytest.mark.parametrize(
    "origin",
    [
        "http://attacker.invalid",
        "null",
        "https://127.0.0.1:7557",
        "http://127.0.0.1:9999",
        "http://localhost:7557",
    ],
)
def test_requests_of_other_pages_are_refused(app: Guard, origin: str):
    answer = entered(app).get("/api/runs", headers={"Origin": origin})

    assert answer.status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_that_the_browser_calls_foreign_is_refused(app: Guard, site: str):
    assert (
        entered(app).get("/api/runs", headers={"Sec-Fetch-Site": site}).status_code
        == 403
    )


def test_a_link_on_another_page_may_lead_to_the_empty_page(app: Guard):
    answer = client(app).get(
        "/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    )

    assert answer.status_code == 200 and b"<title>assay</title>" in answer.content


def test_any_port_of_this_machine_will_do_as_through_a_tunnel(app: Guard):
    found = TestClient(app, base_url="http://localhost:9000")

    answer = found.post(
        "/api/session",
        content=app.new_token(),
        headers={"X-Assay": "1", "Origin": "http://localhost:9000"},
    )

    assert answer.status_code == 200
    assert found.get("/api/runs").status_code == 200


def test_only_the_empty_page_is_answered_without_the_cookie(app: Guard):
    stranger = client(app)

    assert stranger.get("/").status_code == 200
    assert stranger.get("/app/main.js").status_code == 200
    for path in (
        "/api/runs",
        "/api/run?run=x",
        "/api/columns?run=x",
        "/api/raw?run=x&row=0",
        "/media/x/0/y/full",
        "/else",
    ):
        assert stranger.get(path).status_code == 401, path


def test_a_token_counts_once_and_only_the_last_one(app: Guard):
    first, second = app.new_token(), app.new_token()

    answers = [
        client(app)
        .post("/api/session", content=token, headers={"X-Assay": "1"})
        .status_code
        for token in (first, second, second, "")
    ]

    assert answers == [403, 200, 403, 403]


def test_the_cookie_is_kept_from_scripts_and_other_sites(app: Guard):
    answer = client(app).post(
        "/api/session", content=app.new_token(), headers={"X-Assay": "1"}
    )

    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie


def test_a_forged_cookie_opens_nothing(app: Guard):
    real = (
        client(app)
        .post("/api/session", content=app.new_token(), headers={"X-Assay": "1"})
        .headers["set-cookie"]
    )
    name = real.partition("=")[0]

    answer = client(app).get("/api/runs", headers={"Cookie": f"{name}=guess"})

    assert answer.status_code == 401


def test_a_post_without_our_header_is_refused_as_a_form_of_another_page_would_send_it(
    app: Guard,
):
    assert client(app).post("/api/session", content=app.new_token()).status_code == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_not_known(app: Guard, method: str):
    assert entered(app).request(method, "/api/runs").status_code == 405


@pytest.mark.parametrize(
    "path", ["/", "/app/style.css", "/api/runs", "/nothing", "/api/session"]
)
def test_every_answer_forbids_what_the_app_does_not_do(app: Guard, path: str):
    headers = client(app).get(path).headers

    policy = headers["content-security-policy"]
    assert (
        "default-src 'none'" in policy
        and "script-src 'self'" in policy
        and "'unsafe" not in policy
    )
    assert (
        "require-trusted-types-for 'script'" in policy
        and "frame-ancestors 'none'" in policy
    )
    assert (
        headers["x-content-type-options"] == "nosniff"
        and headers["referrer-policy"] == "no-referrer"
    )
    assert (
        headers["cross-origin-resource-policy"]
        == headers["cross-origin-opener-policy"]
        == "same-origin"
    )


def test_a_named_origin_is_taken_and_its_cookie_is_secure(tmp_path: Path):
    sums(tmp_path / "run", count=2)
    app = make_app(tmp_path, "https://runs.example.org")
    found = TestClient(app, base_url="https://runs.example.org")

    answer = found.post(
        "/api/session",
        content=app.new_token(),
        headers={"X-Assay": "1", "Origin": "https://runs.example.org"},
    )

    assert "; Secure" in answer.headers["set-cookie"]
    assert found.get("/api/runs").status_code == 200
    assert (
        found.get("/api/runs", headers={"Host": "other.example.org"}).status_code == 403
    )


@pytest.mark.parametrize(
    "origin", ["runs.example.org", "ftp://x", "https://x/path", "https://me@x"]
)
def test_what_is_not_an_origin_is_refused_in_one_line(tmp_path: Path, origin: str):
    with pytest.raises(UsageError, match="is not an origin"):
        make_app(tmp_path, origin)


def test_a_long_body_is_refused_before_the_token_is_inspected(app: Guard):
    sender, headers = client(app), {"X-Assay": "1"}

    declared = sender.post("/api/session", content=b"x" * 20_000, headers=headers)

    def chunks():
        for _ in range(3):
            yield b"x" * 10_000

    streamed = sender.post("/api/session", content=chunks(), headers=headers)
    short = sender.post("/api/session", content=b"wrong", headers=headers)

    assert (declared.status_code, streamed.status_code) == (413, 413)
    assert "16384 bytes" in declared.text
    assert short.status_code == 403


@pytest.mark.parametrize(
    "hosts",
    [
        ("127.0.0.1:7557", "127.0.0.1:7557"),
        ("attacker.invalid", "127.0.0.1:7557"),
        ("127.0.0.1:7557", "attacker.invalid"),
        (),
    ],
)
def test_a_request_has_exactly_one_host(app: Guard, hosts: tuple[str, ...]):
    headers = [(b"host", host.encode()) for host in hosts]

    assert status_of(app, headers) == 403
    assert status_of(app, [(b"host", b"127.0.0.1:7557")]) == 200


def status_of(app: Guard, headers: list[tuple[bytes, bytes]]) -> int:
    """Return the status of a request for the start page with these headers, sent as they are."""
    scope = {
        "type": "http", "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": "/", "raw_path": b"/", "query_string": b"", "root_path": "",
        "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 7557),
    }  # fmt: skip
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return int(sent[0]["status"])
