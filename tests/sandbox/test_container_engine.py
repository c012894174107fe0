"""The command lines of docker and podman, word by word. No engine is needed."""

from pathlib import Path

import pytest

from assay.sandbox.container import (
    ContainerEngine,
    ContainerLimits,
    client_env,
    find_engine,
)

ENGINES = [ContainerEngine("docker"), ContainerEngine("/opt/bin/podman")]
LIMITS = ContainerLimits(memory_mb=512, cpus=1.5, processes=64)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_container_has_limits_and_no_network(engine):
    words = engine.start("assay-task-1", "image:1", LIMITS, ["/opt/agent"])

    assert words == [
        engine.program,
        *("run", "--detach", "--name", "assay-task-1", "--pull", "never"),
        *("--network", "none", "--memory", "512m", "--memory-swap", "512m"),
        *(
            "--pids-limit",
            "64",
            "--cpus",
            "1.5",
            "--volume",
            "/opt/agent:/opt/agent:ro",
        ),
        *("--entrypoint", "sh", "image:1", "-c", "while :; do sleep 86400; done"),
    ]


def test_all_processors_are_used_without_a_limit():
    words = ENGINES[0].start("name", "image", ContainerLimits(), [])

    assert "--cpus" not in words and "--volume" not in words


@pytest.mark.parametrize(
    ("engine", "network", "options"),
    [
        (ENGINES[0], False, ["--network", "none"]),
        (ENGINES[0], True, []),
        (ENGINES[1], False, ["--format", "docker", "--network", "none", "--pull=never"]),
        (ENGINES[1], True, ["--format", "docker"]),
    ],
)  # fmt: skip
def test_a_build_has_a_network_only_if_it_is_allowed(engine, network, options):
    words = engine.build(Path("/tasks/a/environment"), "assay-task:1", network)

    first = [engine.program, "build", "--tag", "assay-task:1", "--label", "assay"]
    assert words == [*first, "--force-rm", *options, "/tasks/a/environment"]


@pytest.mark.parametrize("engine", ENGINES)
def test_values_of_variables_are_not_in_the_command_line(engine):
    env = {"OPENAI_API_KEY": "secret", "PATH": "/opt/bin:/bin"}

    words = engine.execute("c", ["sh", "-c", "ls"], env=env, folder="/app", user="bob")

    assert words == [
        *(
            engine.program,
            "exec",
            "--interactive",
            "--user",
            "bob",
            "--workdir",
            "/app",
        ),
        *(
            "--env",
            "OPENAI_API_KEY",
            "--env",
            "PATH=/opt/bin:/bin",
            "c",
            "sh",
            "-c",
            "ls",
        ),
    ]
    assert client_env(env)["OPENAI_API_KEY"] == "secret"
    assert client_env(env)["PATH"] != "/opt/bin:/bin", "the engine itself needs PATH"


@pytest.mark.parametrize("engine", ENGINES)
def test_files_are_copied_and_containers_removed(engine, tmp_path):
    program = engine.program
    (tmp_path / "file").write_text("x")

    assert engine.copy_in("c", tmp_path, "/tests") == [
        program,
        "cp",
        f"{tmp_path}/.",
        "c:/tests",
    ]
    assert engine.copy_in("c", tmp_path / "file", "/x") == [
        program,
        "cp",
        f"{tmp_path}/file",
        "c:/x",
    ]
    assert engine.copy_out("c", "/logs/a") == [program, "cp", "c:/logs/a", "-"]
    assert engine.changed_files("c") == [program, "diff", "c"]
    assert engine.restart("c") == [program, "restart", "--time", "0", "c"]
    assert engine.remove("c") == [
        [program, "kill", "c"],
        [program, "rm", "--force", "c"],
    ]
    assert engine.containers()[1:5] == ["ps", "--all", "--filter", "name=assay-task-"]
    assert engine.image("a") == [
        program,
        "image",
        "inspect",
        "--format",
        "{{.Id}}",
        "a",
    ]
    assert engine.process_of("c") == [
        program,
        "inspect",
        "--format",
        "{{.State.Pid}}",
        "c",
    ]


def test_an_engine_that_does_not_answer_is_named_with_its_message(tmp_path):
    program = tmp_path / "docker"
    program.write_text("#!/bin/sh\necho 'no daemon is there' >&2; exit 1\n")
    program.chmod(0o755)

    engine, reason = find_engine(str(program))

    assert engine is None
    assert reason == f"{program} does not answer (no daemon is there)"


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("/no/such/podman", "/no/such/podman is not installed"),
        ("apptainer", "apptainer builds no Dockerfiles"),
    ],
)
def test_programs_that_cannot_be_engines_are_refused(program, reason):
    assert find_engine(program) == (None, reason)
