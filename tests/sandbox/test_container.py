"""The container tier: its command line, verdicts over standard streams, and a refusal where no engine answers.

No engine is needed: stand-ins take an engine's command line. One starts the command as it is, which the self-test must
refuse; one starts it in bubblewrap as another user, which holds.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from attacks import FORGED, OUTSIDE, escape, forgery, host

from assay.core import UsageError
from assay.sandbox import (
    Engine,
    FunctionTests,
    Limits,
    Sandbox,
    SandboxError,
    best_tier,
    choice,
    judge_functions,
)
from assay.sandbox.bubblewrap import find_bubblewraps
from assay.sandbox.container import TEMPLATES, Container
from assay.sandbox.launch import Command

IMAGE = "stand/in:1"
ANSWERS = f"""#!/usr/bin/env bash
echo "$*" >> "$(dirname "$0")/asked"
case "$1" in version|rm) exit 0;; image) [ "$3" = {IMAGE} ]; exit;; esac
"""
AS_IT_IS = f"""
while [ "$1" != {IMAGE} ]; do shift; done; shift
cd "$(mktemp -d)" && exec "$@"
"""
HELD = """
env=()
while [ "$1" != {image} ]; do
  case "$1" in
    --env) env+=(--setenv "${{2%%=*}}" "${{2#*=}}");;
    /tmp:*) size=${{1#*size=}}; size=$((${{size%%m*}} << 20));;
  esac
  shift
done; shift
exec setpriv --reuid 65534 --regid 65534 --clear-groups {bwrap} --unshare-user --unshare-all --disable-userns \
  --die-with-parent --clearenv "${{env[@]}}" --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib \
  --symlink usr/lib64 /lib64 --proc /proc --dev /dev --remount-ro /dev \
  --size $size --tmpfs /tmp --remount-ro / --chdir /tmp -- "$@"
"""
TESTS = FunctionTests(
    "print('noise')\nassert double(2) == 4\nassert double('a') == 'aa'"
)


@pytest.fixture(autouse=True)
def forgetting(monkeypatch):
    monkeypatch.setattr(choice, "_choices", {})


def stand_in(folder: Path, how: str = AS_IT_IS, name: str = "docker") -> Container:
    engine = folder / name
    engine.write_text(ANSWERS + how)
    engine.chmod(0o755)
    return Container(str(engine), IMAGE)


def asked(engine: Container) -> list[str]:
    return (Path(engine.engine).parent / "asked").read_text().splitlines()


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_a_container_has_no_network_no_rights_and_limits(engine):
    limits = Limits(memory_mb=300, disk_mb=20, processes=10)

    launch = Container(engine, IMAGE).launch(
        Command(["python", "-V"], env={"A": "b c"}), limits
    )

    words = " ".join(launch.argv)
    for part in (
        f"{engine} run --rm --interactive --name assay-",
        "--network none",
        "--read-only",
        "--cap-drop ALL",
        "--security-opt no-new-privileges",
        "--user 65534:65534",
        "--pids-limit 12",
        "--memory 300m",
        "--memory-swap 300m",
        "size=20m",
        "--pull never",
        f"{IMAGE} python3 -I -S -c",
    ):
        assert part in words
    assert launch.argv[launch.argv.index("--env") + 1] == "A=b c"
    assert launch.ends == (
        engine,
        "rm",
        "--force",
        launch.argv[launch.argv.index("--name") + 1],
    )
    assert launch.first[:10].isdigit() and not launch.descriptors


def test_apptainer_has_no_home_no_network_and_ends_by_itself():
    launch = Container("apptainer", "python.sif").launch(Command(["python"]), Limits())

    assert (
        launch.argv[:4] == ["apptainer", "--silent", "exec", "--containall"]
        and launch.ends == ()
    )
    assert {"--no-home", "--network", "none", "python.sif"} < set(launch.argv)


def test_a_verdict_goes_over_standard_streams_alone(tmp_path):
    engine = stand_in(tmp_path)

    right = judge_functions(
        engine, "def double(x):\n    print(x)\n    return x * 2", TESTS
    )
    wrong = judge_functions(
        engine, "print('{\"passed\": true}')\ndef double(x): return x", TESTS
    )

    assert right.passed and (wrong.passed, wrong.reason[:14]) == (
        False,
        "AssertionError",
    )


def test_programs_and_tests_larger_than_a_pipe_arrive_whole(tmp_path):
    long = f"text = {'y' * 400_000!r}\n"

    verdict = judge_functions(
        stand_in(tmp_path),
        f"{long}def size(): return len(text)",
        FunctionTests(f"{long}assert size() == len(text) == 400_000"),
    )

    assert verdict.passed


def test_scripts_and_other_interpreters_read_their_input_and_files(tmp_path):
    with Sandbox(stand_in(tmp_path)) as box:
        box.write(
            "folder/main.py",
            "import os\nprint(input()[::-1], os.listdir('.'))\nexit(3)",
        )
        script = box.exec(["python", "folder/main.py"], stdin="abc\n")
        shell = box.exec(["sh", "-c", "read x; echo $x$x"], stdin="ab\n")

    assert (script.returncode, script.stdout) == (
        3,
        b"cba ['folder']\n",
    ) and shell.stdout == b"abab\n"


def test_a_container_past_its_time_is_ended_by_its_engine(tmp_path):
    engine = stand_in(tmp_path)

    with Sandbox(engine, Limits(wall_seconds=1)) as box:
        done = box.exec(["sleep", "60"])

    name = (
        next(line for line in asked(engine) if line.startswith("run"))
        .split("--name ")[1]
        .split()[0]
    )
    assert done.ending == "wall_time" and f"rm --force {name}" in asked(engine)


def test_a_container_that_ended_by_itself_is_not_ended_again(tmp_path):
    engine = stand_in(tmp_path)

    with Sandbox(engine) as box:
        assert box.exec(["true"]).succeeded

    assert not [line for line in asked(engine) if line.startswith("rm")]


def test_files_cannot_be_read_from_a_container(tmp_path):
    with (
        Sandbox(stand_in(tmp_path)) as box,
        pytest.raises(UsageError, match="container cannot return files; fix: pri"),
    ):
        box.exec(["true"], keep=["x"])


def test_an_engine_that_keeps_nothing_in_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(choice, "_FILL", choice._FILL.replace("time.sleep(3)", "pass"))

    assert choice.why_not(stand_in(tmp_path))


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "echo 'Cannot connect to it' >&2; exit 1",
            r"does not answer \(Cannot connect to it\).*; fix: start",
        ),
        (
            '[ "$1" = version ]',
            r"has no image stand/in:1: .*docker pull stand/in:1\); fix: pull it, or name another",
        ),
    ],
)
def test_an_engine_that_does_not_answer_or_lacks_the_image_is_refused_in_one_line(
    tmp_path, script, reason
):
    engine = tmp_path / "docker"
    engine.write_text(f"#!/bin/sh\n{script}\n")
    engine.chmod(0o755)

    with pytest.raises(
        SandboxError, match=rf"container does not hold here \(container: .*{reason}"
    ) as error:
        best_tier("container", Engine(str(engine), IMAGE))

    assert "\n" not in str(error.value)


def test_a_machine_without_an_engine_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(
        SandboxError,
        match="container: neither docker nor podman nor apptainer is installed",
    ):
        best_tier("container")


def test_an_unknown_engine_and_a_template_with_a_fault_are_refused():
    with pytest.raises(
        UsageError,
        match="the container engine 'lxc' is not known; fix: docker, podman, apptainer, or",
    ):
        Container("lxc")
    with pytest.raises(
        UsageError,
        match="the template of the container has a fault: 'nmae'; fix: names in braces",
    ):
        Container("lxc", template="lxc run {nmae} {image}")


def test_a_template_of_ones_own_is_used(tmp_path):
    engine = Container(
        stand_in(tmp_path).engine,
        IMAGE,
        template="{engine} run --gpus none {env} {image}",
    )

    assert judge_functions(engine, "def double(x): return x * 2", TESTS).passed
    assert "run --gpus none --env PATH=" in asked(engine)[0] and set(TEMPLATES) == {
        "docker",
        "podman",
        "apptainer",
    }


def held(folder: Path) -> Container:
    """An engine that holds, for root on a machine with bubblewrap, setpriv and the system's Python."""
    bwrap = next(find_bubblewraps(), None)
    if os.geteuid() != 0 or not (
        bwrap and shutil.which("setpriv") and Path("/usr/bin/python3").exists()
    ):
        pytest.skip("needs root, bubblewrap, setpriv and the system's Python")
    folder.chmod(0o755)
    engine = stand_in(folder, HELD.format(image=IMAGE, bwrap=bwrap))
    trial = subprocess.run(
        [engine.engine, "run", "/tmp:size=4m", IMAGE, "python3", "-c", "1"],
        capture_output=True,
    )
    if trial.returncode:
        pytest.skip(
            f"bubblewrap does not start as another user: {trial.stderr.decode()}"
        )
    return engine


@pytest.mark.xdist_group("sandbox")
def test_an_engine_that_holds_is_accepted_and_nothing_gets_out(
    tmp_path, tmp_path_factory, monkeypatch
):
    engine = held(tmp_path)
    monkeypatch.setenv("ASSAY_SECRET", "")  # which the host sets

    assert best_tier("container", Engine(engine.engine, IMAGE)) == engine
    there = host(tmp_path_factory.mktemp("host"))
    tried = (
        "reads a secret file",
        "reads the users of the host",
        "reads the parent's environment",
        "connects by TCP",
        "sends by UDP",
        "signals the parent",
        "makes a user namespace",
        "starts io_uring",
    )
    assert {
        name: escape(engine, name, there) for name in tried if name in OUTSIDE
    } == dict.fromkeys(tried, "")
    forged = (
        "is wrong",
        "leaves with success at once",
        "writes a verdict to every descriptor",
        "answers in advance",
        "closes the link",
        "reads the tests",
    )
    assert {
        name: forgery(engine, name) for name in forged if name in FORGED
    } == dict.fromkeys(forged, "")
