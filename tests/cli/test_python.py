"""`assay python`: a user's script, as Python would run it."""

import sys

import pytest

from assay.cli.python import command
from assay.core import UnknownName, UsageError


def script(folder, text, name="script.py"):
    path = folder / name
    path.write_text(text)
    return str(path)


def test_a_script_gets_its_arguments_and_its_neighbours(tmp_path, capsys):
    (tmp_path / "helper.py").write_text("WORD = 'hello'\n")
    path = script(
        tmp_path, "import sys, helper\nprint(helper.WORD, sys.argv[1:], __name__)\n"
    )
    before = sys.argv, list(sys.path)

    code = command([path, "--fast", "3"])

    assert code == 0
    assert capsys.readouterr().out == "hello ['--fast', '3'] __main__\n"
    assert (sys.argv, sys.path) == before


@pytest.mark.parametrize(
    ("leaves", "code"), [("sys.exit()", 0), ("sys.exit(5)", 5), ("sys.exit('no')", 1)]
)
def test_the_scripts_exit_code_is_ours(tmp_path, leaves, code):
    assert command([script(tmp_path, f"import sys\n{leaves}\n")]) == code


def test_a_script_that_fails_shows_its_own_traceback(tmp_path, capsys):
    code = command([script(tmp_path, "def broken():\n    return 1 / 0\n\nbroken()\n")])

    shown = capsys.readouterr().err
    assert code == 1
    assert 'script.py", line 2, in broken' in shown and "ZeroDivisionError" in shown
    assert "guest.py" not in shown


def test_a_missing_script_and_an_unknown_dialect_are_one_line(tmp_path):
    with pytest.raises(UsageError, match=r"nowhere\.py: no such script"):
        command(["nowhere.py"])
    with pytest.raises(UnknownName, match="unknown dialect 'testbet'"):
        command(["--dialect", "testbet", script(tmp_path, "")])


def test_without_a_script_the_usage_is_shown(capsys):
    assert command([]) == 2
    assert "usage: assay python" in capsys.readouterr().out


@pytest.mark.parametrize("is_behind", [False, True])
def test_a_registered_file_is_run_before_the_script(tmp_path, capsys, is_behind):
    (tmp_path / "mine.py").write_text(
        "from vlmeval.config import supported_VLM\nsupported_VLM['registered-model'] = lambda: 7\n"
    )
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom vlmeval.config import supported_VLM\n"
        "print(supported_VLM['registered-model'](), sys.argv[1:])\n"
    )
    register = ["--register", str(tmp_path / "mine.py")]

    code = command(
        [str(script), *register, "more"]
        if is_behind
        else [*register, str(script), "more"]
    )

    assert code == 0
    assert capsys.readouterr().out == "7 ['more']\n"


def test_a_file_to_register_that_no_dialect_claims_is_one_line(tmp_path):
    (tmp_path / "mine.py").write_text("x = 1\n")
    (tmp_path / "script.py").write_text("")

    with pytest.raises(
        UsageError, match=r"--register .*mine\.py: written for none of the dialects"
    ):
        command(["--register", str(tmp_path / "mine.py"), str(tmp_path / "script.py")])
