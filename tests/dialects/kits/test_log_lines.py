"""Log lines of users' files appear: on standard error, or where a script's own `setup_logger` sends them."""

import subprocess
import sys

import pytest

SCRIPT = """
import logging
from {kit}.smp import *

get_logger('RUN').error('an error')
get_logger('RUN').info('some information')
logging.getLogger('mine').warning('a plain warning')
"""
SET_UP = """
from vlmeval.smp import *
logger = get_logger('RUN')
setup_logger(log_file='run.log')
logger.info('after the setup')
"""


def run_script(folder, text):
    (folder / "script.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "assay", "python", "script.py"],
        capture_output=True,
        text=True,
        cwd=folder,
        check=True,
    )


@pytest.mark.parametrize("kit", ["vlmeval", "ulmeval"])
def test_log_lines_of_a_script_appear_on_stderr(tmp_path, kit):
    done = run_script(tmp_path, SCRIPT.replace("{kit}", kit))

    assert f"ERROR - {kit}.RUN: an error" in done.stderr
    assert f"INFO - {kit}.RUN: some information" in done.stderr
    assert "a plain warning" in done.stderr


def test_a_script_that_sets_up_its_log_has_it_once_on_stdout_and_in_its_file(tmp_path):
    done = run_script(tmp_path, SET_UP)

    assert done.stdout.count("after the setup") == 1
    assert "after the setup" not in done.stderr
    assert "after the setup" in (tmp_path / "run.log").read_text()
