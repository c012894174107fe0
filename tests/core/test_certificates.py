"""Authorities that the environment names wrongly are said to be wrong, and not the server's certificate."""

import shutil
import ssl
import subprocess

import pytest

from assay.core import UsageError
from assay.core.certificates import trust_context


@pytest.fixture(autouse=True)
def no_authorities(monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)


def test_without_a_word_the_authorities_of_the_system_are_believed():
    assert (
        trust_context().verify_mode is ssl.CERT_REQUIRED
        and trust_context().check_hostname
    )


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("SSL_CERT_FILE", None, "which cannot be read (No such file or directory)"),
        (
            "SSL_CERT_FILE",
            "not a certificate",
            "which has no certificate in PEM format",
        ),
        ("SSL_CERT_FILE", "", "which has no certificate in PEM format"),
        ("SSL_CERT_DIR", None, "which is not a folder"),
        ("SSL_CERT_DIR", "a file", "which is not a folder"),
    ],
)
def test_a_name_that_leads_to_no_authority_says_so(
    monkeypatch, tmp_path, name, content, said
):
    place = tmp_path / "authorities"
    if content is not None:
        place.write_text(content)
    monkeypatch.setenv(name, str(place))

    with pytest.raises(UsageError) as caught:
        trust_context()

    assert caught.value.what == f"the environment variable {name} names {place}, {said}"
    assert caught.value.fix == f"correct or unset {name}"


def test_a_folder_without_hashed_names_says_so(monkeypatch, tmp_path):
    (tmp_path / "my-authority.pem").write_text("…")
    monkeypatch.setenv("SSL_CERT_DIR", f"/no/such/folder:{tmp_path}")

    with pytest.raises(
        UsageError,
        match="no certificate named by its hash",
    ):
        trust_context()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here")
@pytest.mark.parametrize("named", ["file", "folder", "both, signed by the folder's"])
def test_a_server_is_believed_by_the_authorities_that_are_named(
    monkeypatch, tmp_path, named
):
    server, other = new_certificate(tmp_path / "a"), new_certificate(tmp_path / "b")
    folder = tmp_path / "hashed"
    folder.mkdir()
    digest = openssl("x509", "-noout", "-subject_hash", "-in", server / "cert.pem")
    shutil.copy(server / "cert.pem", folder / f"{digest.strip()}.0")
    if named == "file":
        monkeypatch.setenv("SSL_CERT_FILE", str(server / "cert.pem"))
    else:
        monkeypatch.setenv("SSL_CERT_DIR", str(folder))
    if named.startswith("both"):
        monkeypatch.setenv("SSL_CERT_FILE", str(other / "cert.pem"))

    shake_hands(server, trust_context())
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(new_certificate(tmp_path / "c"), trust_context())


def openssl(*words):
    command = ["openssl", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def new_certificate(folder):
    """Write a certificate for localhost, signed by itself, and its key."""
    folder.mkdir()
    openssl(
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
        "-subj",
        f"/CN={folder.name}",
        "-addext",
        "subjectAltName=DNS:localhost",
        "-keyout",
        folder / "key.pem",
        "-out",
        folder / "cert.pem",
    )
    return folder


def shake_hands(server, client_context):
    """Connect a client to a server in memory; raise if the client does not believe its certificate."""
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(server / "cert.pem", server / "key.pem")
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client_context.wrap_bio(to_client, to_server, server_hostname="localhost"),
        server_context.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
