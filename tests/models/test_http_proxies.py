"""Proxies: which servers they are asked for, with whose login, and what is said when one cannot be used."""

import asyncio

import pytest

from assay.models.http import Client, HttpFailure, Limits
from assay.models.http_connecting import Proxy, is_exempt, proxy_for

WHOLE = b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"a": 1}'
LOGIN = "Basic bWU6cGFzcyB3b3Jk"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in (
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
        "ftp_proxy",
        "REQUEST_METHOD",
    ):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
def test_a_proxy_is_named_in_large_or_small_letters_for_one_scheme_or_all(
    monkeypatch, name
):
    monkeypatch.setenv(name, "http://me:pass%20word@proxy.test:3128")

    proxy = proxy_for("http", "server.test", 80)

    assert proxy == Proxy("proxy.test", 3128, LOGIN)
    assert "pass" not in repr(proxy) and LOGIN not in repr(proxy)


def test_the_proxy_of_the_scheme_comes_before_that_of_all(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "http://all.test:1")
    monkeypatch.setenv("HTTPS_PROXY", "https.test:2")

    assert proxy_for("https", "server.test", 443) == Proxy("https.test", 2)
    assert proxy_for("http", "server.test", 80) == Proxy("all.test", 1)


@pytest.mark.parametrize(
    "url",
    [
        "socks5://me:secret-word@proxy.test:1080",
        "https://proxy.test",
        "socks5h://[::1]:9",
    ],
)
def test_a_proxy_of_another_kind_is_refused_in_words_without_its_password(
    monkeypatch, url
):
    monkeypatch.setenv("ALL_PROXY", url)

    with pytest.raises(HttpFailure) as caught:
        proxy_for("https", "server.test", 443)

    assert not caught.value.retryable
    assert "only http:// proxies are spoken to; fix: correct or unset" in str(
        caught.value
    )
    assert "secret-word" not in str(caught.value)


def test_a_proxy_with_an_invalid_port_is_refused(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.test:many")

    with pytest.raises(HttpFailure, match="the proxy's URL: "):
        proxy_for("http", "server.test", 80)


@pytest.mark.parametrize(
    ("listed", "host", "port", "expected"),
    [
        ("server.test", "server.test", 80, True),
        ("SERVER.test", "Server.Test.", 80, True),
        ("server.test", "api.server.test", 80, True),
        (".server.test", "api.server.test", 80, True),
        (".server.test", "server.test", 80, True),
        ("*.server.test", "api.server.test", 80, True),
        ("server.test", "otherserver.test", 80, False),
        ("server.test:8000", "server.test", 8000, True),
        ("server.test:8000", "server.test", 80, False),
        ("other.test, server.test:80", "server.test", 80, True),
        ("other.test server.test", "server.test", 80, True),
        ("*", "anything", 1, True),
        ("", "server.test", 80, False),
        (",,", "server.test", 80, False),
        ("10.0.0.0/8", "10.1.2.3", 80, True),
        ("10.0.0.0/8", "11.1.2.3", 80, False),
        ("10.0.0.0/8:81", "10.1.2.3", 80, False),
        ("10.0.0.0/8", "ten.test", 80, False),
        ("192.168.1.7", "192.168.1.7", 80, True),
        ("192.168.1.7:81", "192.168.1.7", 81, True),
        ("1.7", "192.168.1.7", 80, False),
        ("::1", "::1", 80, True),
        ("[::1]:8080", "::1", 8080, True),
        ("[::1]:8080", "::1", 80, False),
        ("2001:db8::/32", "2001:db8:1::5", 443, True),
        ("2001:db8:0:0::1", "2001:db8::1", 443, True),
        ("127.0.0.0/8", "::ffff:127.0.0.1", 80, True),
        ("fe80::/10", "fe80::1%eth0", 80, True),
    ],
)
def test_no_proxy_names_hosts_domains_addresses_and_networks_with_or_without_a_port(
    monkeypatch, listed, host, port, expected
):
    monkeypatch.setenv("ALL_PROXY", "http://proxy.test:3128")
    monkeypatch.setenv("NO_PROXY", listed)

    assert is_exempt(host, port, listed) is expected
    assert (proxy_for("http", host, port) is None) is expected


class RealProxy:
    """A small proxy: passes requests and tunnels on, wherever they were to go, if the login is right."""

    def __init__(self, behind, login=LOGIN):
        self.behind, self.login = behind, login
        self.lines, self.heads = [], []

    async def __call__(self, reader, writer):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.lines.append(head.split("\r\n")[0])
            self.heads.append(head)
            if self.login and f"Proxy-Authorization: {self.login}\r\n" not in head:
                writer.write(
                    b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
                )
                return
            inner_reader, inner_writer = await asyncio.open_connection(
                "127.0.0.1", self.behind
            )
            if head.startswith("CONNECT"):
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                own = [
                    line for line in head.split("\r\n") if not line.startswith("Proxy-")
                ]
                inner_writer.write("\r\n".join(own).encode())
            await asyncio.gather(
                copied(reader, inner_writer), copied(inner_reader, writer)
            )
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def copied(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
    finally:
        writer.close()


def through(
    monkeypatch,
    url,
    *,
    login="me:pass%20word@",
    wanted=LOGIN,
    context=None,
    variable="all_proxy",
):
    """What comes of a question to `url`, with the proxy and what the server saw."""
    seen = []

    async def serve(reader, writer):
        try:
            seen.append((await reader.readuntil(b"\r\n\r\n")).decode())
            await reader.readexactly(2)
            writer.write(WHOLE)
            await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def talk():
        behind = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        proxy = RealProxy(behind.sockets[0].getsockname()[1], wanted)
        listening = await asyncio.start_server(proxy, "127.0.0.1", 0)
        monkeypatch.setenv(
            variable, f"http://{login}127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        )
        client = Client(Limits(connect=10))
        try:
            return await client.post(url, {}, {}), proxy
        except HttpFailure as error:
            return error, proxy
        finally:
            await client.close()
            listening.close()
            behind.close()

    return *asyncio.run(talk()), seen


@pytest.mark.parametrize("variable", ["http_proxy", "ALL_PROXY"])
def test_a_proxy_gets_its_login_and_the_server_does_not(monkeypatch, variable):
    answer, proxy, seen = through(
        monkeypatch, "http://server.test:8000/v1/x", variable=variable
    )

    assert answer == {"a": 1}
    assert proxy.lines == ["POST http://server.test:8000/v1/x HTTP/1.1"]
    assert f"Proxy-Authorization: {LOGIN}\r\n" in proxy.heads[0]
    assert "Proxy-Authorization" not in seen[0]


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    ("login", "said"),
    [("", "asks for a login"), ("me:other@", "refuses the login of its URL")],
    ids=["none", "wrong"],
)
def test_a_refused_proxy_login_explains_how_to_set_it(monkeypatch, scheme, login, said):
    error, _, seen = through(monkeypatch, f"{scheme}://server.test/v1", login=login)

    assert not seen and not error.retryable
    assert said in error.message and "http://user:password@host:port" in error.message


def test_a_tunnel_names_the_server_with_its_port_and_only_the_proxy_gets_the_login(
    monkeypatch, certificate
):
    context, file = certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(file))

    answer, proxy, seen = through(
        monkeypatch, "https://localhost/v1/x", context=context
    )

    assert answer == {"a": 1}
    assert (
        proxy.lines == ["CONNECT localhost:443 HTTP/1.1"]
        and f"Proxy-Authorization: {LOGIN}" in proxy.heads[0]
    )
    assert "Proxy-Authorization" not in seen[0]


def test_a_tunnel_to_an_ipv6_address_has_it_in_brackets(monkeypatch, certificate):
    context, _ = certificate

    error, proxy, _ = through(
        monkeypatch, "https://[2001:db8::1]/v1/x", context=context
    )

    assert proxy.lines == ["CONNECT [2001:db8::1]:443 HTTP/1.1"]
    assert "Host: [2001:db8::1]:443\r\n" in proxy.heads[0]
    assert error.kind == "tls"  # its certificate is of another name


def test_a_proxy_that_is_not_there_is_named_instead_of_the_server(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://me:secret-word@127.0.0.1:1")

    async def ask():
        await Client().post("http://server.test/v1", {}, {})

    with pytest.raises(HttpFailure) as caught:
        asyncio.run(ask())

    assert str(caught.value).startswith(
        "cannot connect to the proxy 127.0.0.1:1: Connection refused; fix: correct or"
    )
