"""Keys in the entries of TELEVAL's YAML files."""

import pytest

from assay.dialects.televal.televal_secrets import holds_key


@pytest.mark.parametrize(
    "key",
    ["sk-plain-1234567", 'sk-it\'s"quoted"-1', "sk-back\\slash-1", "sk-täst-1234"],
)
@pytest.mark.parametrize("nest", [lambda key: key, lambda key: [key]])
def test_a_key_is_found_whatever_its_characters(key, nest):
    assert holds_key({"model": "m", "judge": {"api_key": nest(key)}})


def test_the_name_of_a_variable_is_not_a_key(monkeypatch):
    monkeypatch.setenv("JUDGE_API_KEY", "sk-secret-1234567")

    assert not holds_key({"api_key": "JUDGE_API_KEY"})
    assert not holds_key({"api_key": "${env:JUDGE_API_KEY}", "model": "m"})
