"""A sandbox runs a command in a fresh file system, within limits, and says how it ended."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from ways import STARTED, ways

from assay.core import UsageError
from assay.sandbox import Limits, Sandbox, choose
from assay.sandbox.launch import (
    FOLDER,
    TIME_ZONES,
    find_program,
    own_python,
    readable_for,
)

WAYS = ways()
pytestmark = [
    pytest.mark.skipif(not WAYS, reason=f"no sandbox holds here: {choose().reasons}"),
    pytest.mark.parametrize("tier", WAYS),
]


def run(tier: str, code: str, stdin: str = "", **limits):
    with Sandbox(WAYS[tier], Limits(**{"wall_seconds": 8, **limits})) as box:
        box.write("main.py", code)
        return box.exec(["python", "main.py"], stdin=stdin)


def test_a_program_reads_its_input_and_its_files(tier):
    done = run(tier, "import os\nprint(input()[::-1], os.listdir('.'))", stdin="abc\n")

    assert done.succeeded and done.stdout.decode().strip() == "cba ['main.py']"


def test_a_file_of_python_runs_as_python_would_run_it(tier):
    code = "import helper, sys\nassert (__name__, __file__) == ('__main__', sys.argv[0])\nexit(helper.CODE)"
    with Sandbox(WAYS[tier]) as box:
        box.write("main.py", code)
        box.write("helper.py", "CODE = 3")
        done = box.exec(["python", "main.py", "argument"])
        failed = box.exec(["python", "helper.py", "argument"])
        box.write("main.py", "import sys\nprint(sys.argv)\n1 / 0")
        raised = box.exec(["python", "main.py", "a b"])

    assert (done.returncode, failed.returncode, done.stderr) == (3, 0, b"")
    assert (raised.returncode, raised.stdout) == (1, b"['main.py', 'a b']\n")
    assert raised.stderr.strip().endswith(b"ZeroDivisionError: division by zero")


def test_what_one_execution_wrote_the_next_does_not_find(tier):
    with Sandbox(WAYS[tier]) as box:
        first = box.exec(
            ["python", "-c", "open('x', 'w').write('1'); print(open('x').read())"]
        )
        second = box.exec(["python", "-c", "import os; print(os.listdir('.'))"])

    assert (first.stdout, second.stdout) == (b"1\n", b"[]\n")


@pytest.mark.parametrize(
    ("code", "limits", "ending"),
    [
        ("import time; time.sleep(9)", {"wall_seconds": 0.3}, "wall_time"),
        ("while True: pass", {"cpu_seconds": 1}, "cpu_time"),
        ("import os; os.kill(os.getpid(), 9)", {}, "killed"),
        ("raise SystemExit(3)", {}, "exited"),
        (
            "import os\nfor _ in range(6): "
            "os.fork() or exec('x = bytearray(90 << 20)\\nwhile 1: x[::4096] = x[::4096]')\n"
            "import time; time.sleep(9)",
            {"memory_mb": 128, "cpu_seconds": 6},
            "memory",
        ),
    ],
)
def test_an_execution_reports_how_it_ended(tier, code, limits, ending):
    done = run(tier, code, **limits)

    assert done.ending == ending and done.returncode == (
        3 if ending == "exited" else None
    )


def test_output_past_the_limit_is_thrown_away(tier):
    done = run(
        tier,
        "print('x' * 5000); import sys; sys.stderr.write('y' * 5000)",
        output_bytes=1000,
    )

    assert (
        done.truncated
        and (len(done.stdout), len(done.stderr)) == (1000, 1000)
        and done.returncode == 0
    )


def test_unread_input_does_not_block(tier):
    assert run(tier, "print('done')", stdin="x" * 5_000_000).stdout == b"done\n"


def test_a_file_outside_has_no_name_inside(tier):
    with Sandbox(WAYS[tier]) as box:
        for name in ("/etc/x", "../x", "", "a/../../x", "a\0b"):
            with pytest.raises(UsageError, match="is not a name inside the sandbox"):
                box.write(name, "x")


def test_of_an_interpreter_only_its_own_files_are_there(tier):
    shown = set(readable_for(own_python())) - {own_python(), TIME_ZONES}

    assert all(
        path.parent.name in ("lib", "lib64") or path.name.startswith("lib")
        for path in shown
    )


def test_assay_may_be_installed_in_the_temporary_folder(tier, tmp_path):
    if tier.endswith(STARTED):
        pytest.skip("the self-test tries both ways")
    copied = shutil.copytree(
        FOLDER.parent, tmp_path / "assay", ignore=shutil.ignore_patterns("__pycache__")
    )
    tmp_path.chmod(0o755)
    code = f"from assay.sandbox import choose, launch; print(choose({tier!r}).reasons, launch.FOLDER)"
    env = {**os.environ, "PYTHONPATH": str(copied.parent)}

    said = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True
    ).stdout

    assert said.strip() == str(copied / "sandbox")


@pytest.mark.skipif(shutil.which("sh") is None, reason="there is no shell")
def test_other_interpreters_run_too(tier):
    with Sandbox(WAYS[tier]) as box:
        done = box.exec(["sh", "-c", "read x; echo $x$x"], stdin="ab\n", env={"A": "1"})

    assert done.stdout == b"abab\n" and find_program("sh").is_absolute()


def test_files_that_are_kept_can_be_read_afterwards(tier):
    with Sandbox(WAYS[tier]) as box:
        done = box.exec(
            ["python", "-c", "open('out', 'wb').write(bytes(range(256)))\nprint(1)"],
            keep=["out", "none"],
        )

        assert (
            done.succeeded
            and done.stdout == b"1\n"
            and box.read("out") == bytes(range(256))
        )
        with pytest.raises(UsageError, match="the last command left no file 'none'"):
            box.read("none")


def test_a_link_out_is_not_read(tier):
    with Sandbox(WAYS[tier]) as box:
        box.exec(
            [
                "python",
                "-c",
                "import os; os.symlink(os.__file__, 'out'); os.mkfifo('pipe')",
            ],
            keep=["out", "pipe"],
        )

        with pytest.raises(UsageError, match="left no file 'out'"):
            box.read("out")


def test_a_command_that_fails_or_is_late_still_says_so_where_files_are_kept(tier):
    with Sandbox(WAYS[tier], Limits(wall_seconds=9)) as box:
        assert (
            box.exec(["python", "-c", "raise SystemExit(3)"], keep=["out"]).returncode
            == 3
        )
        assert box.exec(["sleep", "9"], keep=["out"], timeout=0.3).ending == "wall_time"
