"""Tests of task folders: agents in their environments, the tests of the task, and what the plan says."""

import json

import pytest
from task_folders import make_task, make_tasks, records

from assay.cli.main import main
from assay.sandbox import choose

pytestmark = pytest.mark.skipif(
    choose("bubblewrap").tier is None, reason="bubblewrap does not run"
)


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(tasks, agent, *more):
    return main(
        [
            "run",
            str(tasks),
            "--model",
            "scripted",
            "--agent",
            agent,
            "--agent_args",
            "tier=host",
            "-o",
            "out",
            "--fresh",
            *more,
        ]
    )


def rewards(path):
    return {
        id: record["values"].get("reward")
        for id, record in records(path / "out", "score").items()
    }


@pytest.mark.parametrize("count", [10, pytest.param(50, marks=pytest.mark.costly)])
def test_the_solution_is_right_and_doing_nothing_is_wrong(tmp_path, count):
    tasks = make_tasks(tmp_path / "tasks", count)

    assert run(tasks, "oracle") == 0
    assert set(rewards(tmp_path).values()) == {1.0} and len(rewards(tmp_path)) == count
    assert run(tasks, "null") == 0
    assert set(rewards(tmp_path).values()) == {0.0} and len(rewards(tmp_path)) == count


def test_an_agent_works_in_the_folder_of_the_task_and_reads_neither_tests_nor_solution(
    tmp_path,
):
    tasks = make_tasks(tmp_path / "tasks", 1)
    (tmp_path / "agent.sh").write_text(
        "pwd; cat /tests/* /solution/* /tmp/root/tests/* 2>/dev/null; find / -name expected.txt 2>/dev/null\n"
        "mkdir -p /tests; echo 'echo 1 > /logs/verifier/reward.txt' > /tests/test.sh; echo wrong > result.txt\n"
        "(sleep 1; echo 1 > /logs/verifier/reward.txt) &\n"
    )

    run(tasks, "bash agent.sh")

    [answer] = records(tmp_path / "out", "output").values()
    assert answer["output"]["candidates"][0]["text"] == "/app"
    assert rewards(tmp_path) == {"task-00": 0.0}, (
        "neither other tests nor processes of the agent decide"
    )


def test_tests_without_a_reward_count_as_zero(tmp_path):
    folder = make_task(tmp_path / "tasks", 0)
    (folder / "tests/test.sh").write_text("exit 1")

    run(tmp_path / "tasks", "oracle")

    [score] = records(tmp_path / "out", "score").values()
    assert score["outcome"] == "unparsed"
    assert score["details"]["error"] == "the tests wrote no reward"


def test_several_rewards_are_several_numbers(tmp_path):
    folder = make_task(tmp_path / "tasks", 0)
    (folder / "tests/test.sh").write_text(
        'echo \'{"speed": 2.5, "right": 1}\' > /logs/verifier/reward.json'
    )

    run(tmp_path / "tasks", "oracle")

    [score] = records(tmp_path / "out", "score").values()
    assert score["values"] == {"reward.speed": 2.5, "reward.right": 1.0}


REASONS = {
    "RUN curl https://example.com/x": "it downloads with curl",
    "RUN pip install no-such-package-at-all": "it needs the Python package no-such-package-at-all",
    "RUN apt-get update && apt-get install -y no-such-package": "it needs the package no-such-package",
    "RUN echo x > /etc/motd": "it writes to /etc",
    "RUN useradd bob": "it changes the machine with useradd",
    "RUN git clone https://example.com/x": "it downloads with git clone",
    "COPY --from=builder /x /app/x": "it copies files from another image",
    "COPY missing.txt /app/": "COPY names missing.txt, which is not there",
    "FROM debian": "it is built in several stages",
    'SHELL ["zsh"]': "it needs SHELL of its Dockerfile",
    "RUN if true; then apt-get install -y x; fi": "it needs apt-get install inside a longer script",
}


def test_the_plan_says_which_tasks_cannot_run_and_why(tmp_path, capsys):
    tasks = make_tasks(tmp_path / "tasks", 1)
    for number, line in enumerate(REASONS, start=1):
        folder = make_task(tasks, number)
        with (folder / "environment/Dockerfile").open("a") as file:
            file.write(f"{line}\n")

    run(tasks, "oracle")

    count = len(REASONS) + 1
    assert (
        f"tasks: 1 of {count} tasks runs in workspaces of this machine (tier host)"
        in capsys.readouterr().err
    )
    scores = records(tmp_path / "out", "score")
    for number, reason in enumerate(REASONS.values(), start=1):
        score = scores[f"task-{number:02}"]
        assert score["outcome"] == "data_error"
        assert reason in score["details"]["error"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tests/test.sh", "the task has no tests/test.sh"),
        ("instruction.md", "the task has no instruction.md"),
    ],
)
def test_a_folder_without_a_needed_file_is_refused_before_work(
    tmp_path, capsys, name, words
):
    folder = make_task(tmp_path, 0)
    (folder / name).unlink()

    assert run(folder, "oracle") == 2

    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_broken_settings_name_their_key(tmp_path, capsys):
    folder = make_task(tmp_path, 0)
    (folder / "task.toml").write_text("[agent]\ntimeout_sec = 'soon'")

    assert run(folder, "oracle") == 2

    assert "agent.timeout_sec is 'soon'" in capsys.readouterr().err


def test_tasks_without_an_agent_are_refused(tmp_path, capsys):
    folder = make_task(tmp_path, 0)

    assert main(["run", str(folder), "--model", "scripted"]) == 2

    assert "--agent oracle or --agent null" in capsys.readouterr().err


def test_a_changed_task_is_done_again(tmp_path):
    folder = make_task(tmp_path / "tasks", 0)
    command = [
        "run",
        str(tmp_path / "tasks"),
        "--model",
        "scripted",
        "--agent",
        "oracle",
        "-o",
        "out",
    ]
    main(command)
    (folder / "tests/expected.txt").write_text("something else")

    main(command)

    assert rewards(tmp_path) == {"task-00": 0.0}


def test_a_variable_of_the_machine_that_is_missing_is_named(tmp_path):
    folder = make_task(tmp_path / "tasks", 0)
    with (folder / "task.toml").open("a") as file:
        file.write('[verifier.env]\nKEY = "${NO_SUCH_KEY_HERE}"\n')

    run(tmp_path / "tasks", "null")

    [answer] = records(tmp_path / "out", "output").values()
    assert "NO_SUCH_KEY_HERE" in json.dumps(answer["output"]["error"])
