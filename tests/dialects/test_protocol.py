"""The rule a dialect follows where ours and upstream's differ."""

from pathlib import Path

import pytest

from assay.cli.main import main
from assay.core import UsageError
from assay.dialects import disable, enable
from assay.dialects.protocol import OURS, choose, is_upstream


def test_a_session_chooses_upstream_for_one_dialect_and_disable_takes_it_back():
    enable("testbed", protocol="upstream")
    assert is_upstream("testbed") and not is_upstream("pipeline")
    disable("testbed")
    assert not is_upstream("testbed")


def test_an_unknown_protocol_is_refused_by_name():
    with pytest.raises(UsageError, match="unknown protocol 'theirs'"):
        enable("testbed", protocol="theirs")
    assert not is_upstream("testbed")


@pytest.mark.parametrize(
    "flags",
    [
        ["--upstream"],
        ["--upstream", "--dialect", "testbed"],
        ["--dialect=testbed", "--upstream"],
    ],
)
def test_a_script_follows_upstream_when_asked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], flags: list[str]
):
    script = tmp_path / "script.py"
    script.write_text(
        "import testbed.data\nfrom assay.dialects.protocol import is_upstream\nprint(is_upstream('testbed'))\n"
    )
    try:
        assert main(["python", *flags, str(script)]) == 0
    finally:
        choose("testbed", OURS)
    assert capfd.readouterr().out.strip() == "True"
