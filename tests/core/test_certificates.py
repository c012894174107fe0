"""Authorities that the environment names wrongly are said to be wrong, and not the server's certificate."""

import ssl

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
            "which holds no certificate in PEM format",
        ),
        ("SSL_CERT_FILE", "", "which holds no certificate in PEM format"),
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
        match="no certificate named by its hash, as `openssl rehash` names them",
    ):
        trust_context()
