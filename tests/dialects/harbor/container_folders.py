"""Task folders that need an image, made for the tests: users, folders of the system, stages, ownership."""

from pathlib import Path

BASE = "debian:bookworm"
"""The image that the tests build on. It must be on this machine: nothing is pulled."""
TOML = """[verifier]
timeout_sec = 60
[agent]
timeout_sec = 60
[environment]
memory_mb = 512
cpus = 1
{environment}
"""
TEST = """#!/bin/bash
if {condition}; then reward=1; else reward=0; fi
echo $reward > /logs/verifier/reward.txt
"""

TASKS = {
    # name: (Dockerfile, solution, condition of the tests)
    "user": (
        "RUN useradd --create-home bob\nUSER bob\nWORKDIR /home/bob",
        "whoami > who.txt",
        "[ $(cat /home/bob/who.txt) = bob ] && [ $(stat -c %U /home/bob/who.txt) = bob ]",
    ),
    "system-file": (
        "RUN echo secret > /etc/token\nWORKDIR /srv",
        "cp /etc/token /srv/copy",
        "[ $(cat /srv/copy) = secret ]",
    ),
    "stages": (
        "AS builder\nRUN mkdir /out && echo built > /out/part\n"
        f"FROM {BASE}\nCOPY --from=builder /out /opt/out\nWORKDIR /opt/out",
        "cat part part > whole",
        "[ $(wc -l < /opt/out/whole) = 2 ]",
    ),
    "env": (
        "ENV GREETING='hello there' PATH=/opt/tools:$PATH\n"
        "RUN mkdir /opt/tools && printf '#!/bin/sh\\necho $GREETING' > /opt/tools/greet && chmod +x /opt/tools/greet",
        "greet > /tmp/greeting",
        '[ "$(cat /tmp/greeting)" = "hello there" ] && [ "$(greet)" = "hello there" ]',
    ),
    "ownership": (
        "RUN useradd bob\nCOPY --chown=bob:bob --chmod=640 data.txt /opt/data.txt",
        "stat -c %U:%a /opt/data.txt > /opt/result",
        "[ $(cat /opt/result) = bob:640 ]",
    ),
    "programs": (
        "RUN printf '#!/bin/sh\\necho 42' > /usr/local/bin/answer && chmod 755 /usr/local/bin/answer",
        "answer > /answer.txt",
        "[ $(cat /answer.txt) = 42 ]",
    ),
    "shell": (
        'SHELL ["/bin/bash", "-c"]\nRUN for i in {1..3}; do echo $i >> /etc/numbers; done',
        "tac /etc/numbers > /root/numbers",
        "[ $(head -n 1 /root/numbers) = 3 ]",
    ),
    "heavy-copy": (
        "COPY . /usr/share/task/\nRUN ldconfig && test -f /usr/share/task/data.txt",
        "cp /usr/share/task/data.txt /usr/share/task/copy.txt",
        "cmp -s /usr/share/task/data.txt /usr/share/task/copy.txt",
    ),
}  # fmt: skip


def make_container_task(top: Path, name: str, environment: str = "") -> Path:
    """Write one task folder."""
    dockerfile, solution, condition = TASKS[name]
    separator = " " if dockerfile.startswith("AS ") else "\n"
    files = {
        "task.toml": TOML.format(environment=environment),
        "instruction.md": f"Solve the task {name}.\n",
        "environment/Dockerfile": f"FROM {BASE}{separator}{dockerfile}\n",
        "environment/data.txt": f"data of {name}\n",
        "tests/test.sh": TEST.format(condition=condition),
        "solution/solve.sh": f"#!/bin/sh\n{solution}\n",
    }
    for path, text in files.items():
        full = top / name / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text)
    return top / name


def make_container_tasks(top: Path) -> Path:
    """Write all task folders."""
    for name in TASKS:
        make_container_task(top, name)
    return top
