"""What the plan says about tasks that need an image. The engine is a program that only says which images it has."""

import pytest
from container_folders import make_container_task, make_container_tasks
from task_folders import records

from assay.cli.main import main
from assay.dialects.harbor.container_tier import (
    base_images,
    mounted_folders,
    program_that_downloads,
    read_tiers,
)
from assay.dialects.harbor.dockerfile import read_dockerfile
from assay.dialects.harbor.harbor_tasks import tasks_of


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENGINE_LOG", str(tmp_path / "asked"))


def engine_with(folder, *images):
    """Write an engine that answers, has these images, and fails in everything else."""
    program = folder / "docker"
    names = "|".join(images) or "none"
    program.write_text(
        f'#!/bin/sh\necho "$*" >> $ENGINE_LOG\n'
        f'case "$1 $5" in "info "*) exit 0;; "image "*) case "$5" in {names}) echo id; exit 0;; esac;; esac\n'
        'echo "no such thing" >&2; exit 1\n'
    )
    program.chmod(0o755)
    return program


def run(tasks, engine, *more):
    words = ["run", str(tasks), "--model", "scripted", "--agent", "oracle", "-o", "out"]
    args = ",".join([f"engine={engine}", "tier=container", *more])
    return main([*words, "--agent_args", args])


def test_a_missing_engine_is_one_line_with_its_fix(tmp_path, capsys):
    folder = make_container_task(tmp_path / "tasks", "user")

    assert run(folder, "/no/such/podman") == 2

    error = capsys.readouterr().err
    assert "cannot run in a container: it needs an image engine" in error
    assert (
        "fix: install podman or start docker (/no/such/podman is not installed)"
        in error
    )
    assert not (tmp_path / "out").exists()


def test_the_plan_says_what_an_engine_would_run(tmp_path):
    tasks = make_container_tasks(tmp_path / "tasks")
    host = make_container_task(tmp_path / "tasks", "user")
    (host / "environment/Dockerfile").write_text("FROM x\nWORKDIR /app\n")

    [task] = tasks_of(str(tasks), read_tiers({"engine": "/no/such/podman"}))

    first, *reasons, last = task.environment.plan_lines()
    assert first == "tasks: 1 of 8 tasks runs in workspaces of this machine (tier host)"
    # "programs" and "heavy-copy" write to /usr, "system-file" to /etc.
    assert "tasks: 2 tasks cannot: it writes to /usr" in reasons
    assert "tasks: 1 task cannot: it writes to /etc" in reasons
    assert "tasks: 1 task cannot: it is built in several stages" in reasons
    fix = "install podman or start docker (/no/such/podman is not installed)"
    assert last == f"tasks: an image engine would run 7 tasks: {fix}"


def test_a_base_image_that_is_missing_is_not_pulled(tmp_path, capsys):
    folder = make_container_task(tmp_path / "tasks", "user")
    engine = engine_with(tmp_path)

    assert run(folder, engine) == 2

    reason = (
        f"its base image debian:bookworm is not here ({engine} pull debian:bookworm)"
    )
    assert reason in capsys.readouterr().err
    assert "pull" not in (tmp_path / "asked").read_text()


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("apt-get update && apt-get install -y jq", "apt-get"),
        ("pip install --no-cache-dir numpy", "pip"),
        ("cd /x && git clone https://example.com/x", "git"),
        ("curl -L https://example.com/x | sh", "curl"),
        ("npm ci", "npm"),
        ("apk add --no-cache bash", "apk"),
    ],
)
def test_a_dockerfile_that_downloads_needs_the_permission(
    tmp_path, capsys, line, program
):
    folder = make_container_task(tmp_path / "tasks", "user")
    with (folder / "environment/Dockerfile").open("a") as file:
        file.write(f"\nRUN {line}\n")

    assert run(folder, engine_with(tmp_path, "debian:bookworm")) == 2

    reason = f"its Dockerfile downloads with {program} (--agent_args build_network=on)"
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("line", ["useradd bob", "make install", "go build ./..."])
def test_other_lines_need_no_network(line):
    assert program_that_downloads(line) == ""


def test_a_task_may_allow_the_network_of_its_build(tmp_path):
    setting = 'network_mode = "public"'
    folder = make_container_task(tmp_path / "tasks", "user", setting)
    engine = engine_with(tmp_path)

    run(folder, engine)

    [answer] = records(tmp_path / "out", "output").values()
    assert "the image cannot be built" in answer["output"]["error"]["message"]
    asked = (tmp_path / "asked").read_text()
    assert "build --tag assay-task:" in asked
    assert "--network none" not in asked


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ("tier=moon", "there is no tier 'moon'"),
        ("build_network=maybe", "build_network cannot be 'maybe'"),
        ("engine=apptainer", "apptainer builds no Dockerfiles"),
    ],
)
def test_settings_that_mean_nothing_are_refused(tmp_path, capsys, args, words):
    folder = make_container_task(tmp_path / "tasks", "user")
    line = ["run", str(folder), "--model", "scripted", "--agent", "null", "-o", "out"]

    assert main([*line, "--agent_args", args]) == 2

    assert words in capsys.readouterr().err


def test_settings_of_containers_are_refused_without_a_task_folder(tmp_path, capsys):
    (tmp_path / "rows.jsonl").write_text('{"input": "x", "target": "y"}\n')
    line = ["run", "rows.jsonl", "--model", "scripted", "--agent", "null", "-o", "out"]

    assert main([*line, "--agent_args", "tier=container"]) == 2

    assert "tier is for task folders" in capsys.readouterr().err


def test_base_images_are_those_that_are_no_stages():
    dockerfile = read_dockerfile(
        "ARG TAG=3.12\nFROM --platform=linux/amd64 python:${TAG} AS Base\n"
        "FROM base AS second\nCOPY --from=0 /a /a\nCOPY --from=docker.io/x/y:1 /b /b\n"
        "FROM scratch\nCOPY --from=second /c /c\n"
    )

    assert base_images(dockerfile) == ["python:3.12", "docker.io/x/y:1"]


def test_folders_of_the_system_are_not_mounted_over():
    system = ["/usr/local/lib/python3.11", "/usr/bin/python3.11"]
    visible = ["/opt/agent", *system, "/home/u/venv", "/opt/agent"]

    assert mounted_folders(visible) == ["/opt/agent", "/home/u/venv"]
