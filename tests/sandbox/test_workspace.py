"""Tests of workspaces: commands that share files and processes, within limits, apart from other workspaces."""

import io
import os
import socket
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay.core import AssayError, UsageError
from assay.sandbox import SandboxError, choose
from assay.sandbox.landlock import Landlock
from assay.sandbox.running import StoppedError, Stopper
from assay.sandbox.workspace import Workspace, WorkspaceEndedError, WorkspaceLimits
from assay.sandbox.workspace_choice import why_no_workspace, workspace_tier

TIER = choose("bubblewrap").tier
needs_bubblewrap = pytest.mark.skipif(TIER is None, reason="bubblewrap does not run")
pytestmark = needs_bubblewrap


@pytest.fixture(params=["forked", "started"])
def workspace(request: pytest.FixtureRequest) -> Iterator[Workspace]:
    """Open a workspace both ways: forked from a running sandbox, and in a sandbox of its own."""
    assert TIER is not None
    tier = TIER if request.param == "forked" else replace(TIER, forks=False)
    with Workspace(tier) as workspace:
        yield workspace


def test_commands_share_files(workspace):
    workspace.exec("mkdir notes && echo 42 > notes/answer")

    assert workspace.exec("cat notes/answer").stdout == b"42\n"
    assert workspace.read("notes/answer") == b"42\n"


def test_a_command_may_be_words_with_standard_input_and_variables(workspace):
    done = workspace.exec(
        ["python", "-c", "import os; print(os.environ['NAME'], input())"],
        stdin="hello",
        env={"NAME": "x"},
    )

    assert (done.stdout, done.returncode) == (b"x hello\n", 0)


def test_output_and_exit_code_are_kept_apart(workspace):
    done = workspace.exec("echo out; echo err >&2; exit 3")

    assert (done.stdout, done.stderr, done.returncode) == (b"out\n", b"err\n", 3)


def test_background_processes_stay_and_do_not_hold_up_a_command(workspace):
    started = time.monotonic()
    workspace.exec("sleep 60 & echo $! > pid")

    assert workspace.exec("kill -0 $(cat pid) && echo alive").stdout == b"alive\n"
    assert time.monotonic() - started < 30


def test_time_limit_ends_every_process_and_keeps_the_files(workspace):
    workspace.exec("echo kept > file; sleep 60 & echo $! > pid")

    done = workspace.exec("sleep 60", timeout=0.3)

    assert (done.ending, done.returncode) == ("wall_time", None)
    after = workspace.exec("kill -0 $(cat pid) 2> /dev/null || echo ended; cat file")
    assert after.stdout == b"ended\nkept\n"


def test_large_output_is_cut():
    limits = WorkspaceLimits(output_bytes=1000)
    with Workspace(TIER, limits) as workspace:
        done = workspace.exec("head -c 100000 /dev/zero | tr '\\0' x")

    assert done.truncated and len(done.stdout) == 1000


def test_a_folder_is_copied_in_and_out(workspace, tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "run.sh").write_text("echo ran")
    (tmp_path / "a" / "run.sh").chmod(0o755)
    (tmp_path / "link").symlink_to("/etc/hostname")

    workspace.put(tmp_path, "task")

    assert workspace.exec("./task/a/run.sh").stdout == b"ran\n"
    with tarfile.open(fileobj=io.BytesIO(workspace.pack("task"))) as archive:
        assert "./a/run.sh" in archive.getnames()
    with pytest.raises(UsageError):
        workspace.read("task/link")


def test_errors_name_the_path(workspace):
    with pytest.raises(UsageError, match="missing"):
        workspace.read("missing")
    with pytest.raises(UsageError, match="cannot be started"):
        workspace.exec(["no-such-program"])


def test_usual_folders_can_be_written(workspace):
    done = workspace.exec(
        "echo x > /app/file && cd /app && cat file; wc -l < /etc/passwd"
    )

    assert done.stdout == b"x\n2\n"


def test_no_network_but_the_sockets_of_the_host_process(workspace):
    with workspace.listen() as listening:
        port = listening.getsockname()[1]
        thread = threading.Thread(target=_answer_once, args=(listening,))
        thread.start()
        inside = workspace.exec(
            f"exec 3<>/dev/tcp/localhost/{port}; echo hi >&3; cat <&3"
        )
        thread.join()
        outside = socket.socket()
        with pytest.raises(OSError):
            outside.connect(("127.0.0.1", port))
        outside.close()

    assert inside.stdout == b"answer\n"


def _answer_once(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.recv(100)
        connection.sendall(b"answer\n")


def test_a_command_that_ends_the_workspace_is_an_error_once_and_for_all(workspace):
    with pytest.raises(WorkspaceEndedError):
        workspace.exec("kill -9 $PPID; sleep 5")
    with pytest.raises(WorkspaceEndedError, match="has ended"):
        workspace.exec("echo on")
    assert workspace.has_ended


def test_forged_replies_do_not_harm_the_host(workspace):
    forged = (
        "import glob\n"
        "for path in glob.glob('/proc/*/fd/*'):\n"
        "    try: open(path, 'wb', 0).write(b'{\"sizes\": [99999999999]}\\n')\n"
        "    except OSError: pass\n"
    )
    workspace.write("forge.py", forged)

    assert workspace.exec(["python", "forge.py"]).ending == "exited"
    assert workspace.exec("echo on").stdout == b"on\n"


def test_memory_of_all_processes_is_limited():
    hold = "python -c 'import time; held = b\"x\" * (60 << 20); time.sleep(60)' & "
    with Workspace(TIER, WorkspaceLimits(memory_mb=128)) as workspace:
        done = workspace.exec(f"{hold * 4} sleep 60", timeout=50)

        assert done.ending == "memory"
        assert workspace.has_ended


def test_processes_that_leave_their_group_still_count():
    hold = "import time; held = b'x' * (200 << 20); time.sleep(60)"
    with Workspace(TIER, WorkspaceLimits(memory_mb=128)) as workspace:
        workspace.write("hold.py", hold)

        done = workspace.exec("setsid python hold.py & sleep 50", timeout=55)

        assert done.ending == "memory"


def test_stopping_the_run_ends_the_command():
    stopper = Stopper()
    with Workspace(TIER, stopper=stopper) as workspace:
        timer = threading.Timer(0.3, stopper.stop)
        timer.start()
        with pytest.raises(StoppedError):
            workspace.exec("sleep 60")
        timer.join()


def test_killing_assay_leaves_no_process_of_the_workspace(tmp_path: Path):
    mark = f"mark-{os.getpid()}-{time.monotonic_ns()}"
    code = (
        "from assay.sandbox import choose\n"
        "from assay.sandbox.workspace import Workspace\n"
        "workspace = Workspace(choose('bubblewrap').tier)\n"
        f"workspace.exec('setsid bash -c \"sleep 300; : {mark}\" > /dev/null 2>&1 &')\n"
        "print('up', flush=True)\n"
        "workspace.exec('sleep 300', timeout=300)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.kill()
    with process:
        pass
    deadline = time.monotonic() + 60
    while _runs(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(mark)


def _runs(mark: str) -> bool:
    listed = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True)
    return mark.encode() in listed.stdout


def test_attacks_on_workspaces_fail():
    assert TIER is not None
    assert why_no_workspace(TIER) == ""
    assert workspace_tier() == TIER


def test_attacks_on_started_workspaces_fail():
    assert TIER is not None
    assert why_no_workspace(replace(TIER, forks=False)) == ""


def test_other_tiers_are_refused_with_a_fix():
    with pytest.raises(SandboxError, match="needs its own namespaces") as caught:
        Workspace(Landlock())
    assert "assay[sandbox]" in str(caught.value.fix)


def test_a_closed_workspace_says_so():
    workspace = Workspace(TIER)
    workspace.close()
    with pytest.raises(AssayError, match="it was closed"):
        workspace.exec("echo")
