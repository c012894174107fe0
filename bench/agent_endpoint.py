"""CPU of one exchange of an agent, and kills of a run at random moments.

python bench/agent_endpoint.py            CPU of this process for each exchange, beside the same run without exchanges
python bench/agent_endpoint.py --kills 50 kills a run as often, and counts the exchanges that were asked twice
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

AGENT = """
import json, os, urllib.request, http.client
from urllib.parse import urlsplit
def run(instruction):
    url = urlsplit(os.environ["OPENAI_BASE_URL"])
    link = http.client.HTTPConnection(url.netloc)
    headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    turns = [{"role": "user", "content": instruction}]
    for number in range(COUNT):
        link.request("POST", url.path + "/chat/completions", json.dumps({"messages": turns}), headers)
        reply = json.loads(link.getresponse().read())["choices"][0]["message"]
        turns = [turns[0], *turns[1:][-20:], reply, {"role": "user", "content": f"go on {number}"}]
        PAUSE
    return turns[-2]["content"]
"""
MODEL = """
import os, threading
lock = threading.Lock()
def generate(messages):
    text = str(messages)
    if "ASKED" in os.environ:
        with lock, open(os.environ["ASKED"], "a") as file:
            file.write(str(hash_of(text)) + "\\n")
    return f"answer {len(text)}"
def hash_of(text):
    import hashlib
    return hashlib.sha256(text.encode()).hexdigest()
"""


def write_folder(
    folder: Path, samples: int, exchanges: int, pause: str = "pass"
) -> None:
    """Write the questions, the agent and the model."""
    rows = [
        {"id": f"s{n}", "input": f"question {n}", "target": "answer"}
        for n in range(samples)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    agent = AGENT.replace("COUNT", str(exchanges)).replace("PAUSE", pause)
    (folder / "agent.py").write_text(agent)
    (folder / "model.py").write_text(MODEL)


def command(folder: Path, output: str) -> list[str]:
    """Return the command that runs the agent."""
    words = [
        "run",
        "rows.jsonl",
        "--model",
        "model.py:generate",
        "--agent",
        "agent.py:run",
    ]
    return [
        sys.executable,
        "-m",
        "assay",
        *words,
        "--max_turns",
        "100000",
        "--scorer",
        "includes",
        "-o",
        output,
    ]


def cpu_of(folder: Path, output: str) -> float:
    """Return the CPU seconds of assay itself: not those of the sandbox and the program in it."""
    code = (
        "import sys, time; from assay.cli.main import main; code = main(sys.argv[1:]);"
        " print('CPU', time.process_time()); sys.exit(code)"
    )
    words = [sys.executable, "-c", code, *command(folder, output)[3:]]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    [line] = [line for line in done.stdout.splitlines() if line.startswith("CPU")]
    return float(line.split()[1])


def measure_cpu(samples: int = 4, exchanges: int = 250) -> None:
    """Print the CPU of one exchange."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_folder(folder, samples, 1)
        base = cpu_of(folder, "few")
        write_folder(folder, samples, exchanges + 1)
        more = cpu_of(folder, "many")
    each = (more - base) / (samples * exchanges)
    print(
        f"{each * 1000:.2f} ms CPU for each exchange ({samples * exchanges} exchanges, {more:.2f} s)"
    )


def measure_kills(kills: int, samples: int = 4, exchanges: int = 30) -> None:
    """Kill a run at random moments, and print how often an exchange was asked again."""
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_folder(folder, samples, exchanges, "__import__('time').sleep(0.3)")
        asked_file = folder / "asked"
        environment = {**os.environ, "ASKED": str(asked_file)}
        for number in range(kills):
            process = subprocess.Popen(
                command(folder, "out"),
                cwd=folder,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            before = (
                len(asked_file.read_text().splitlines()) if asked_file.exists() else 0
            )
            deadline = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < deadline:
                count = (
                    len(asked_file.read_text().splitlines())
                    if asked_file.exists()
                    else 0
                )
                if count > before + rng.randrange(3):
                    break
                time.sleep(0.005)
            if process.poll() is not None:
                print(f"finished before kill {number + 1}")
                break
            time.sleep(rng.random() * 0.1)
            process.send_signal(signal.SIGKILL)
            process.wait()
        done = subprocess.run(
            command(folder, "out"),
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
        )
        asked = Counter(asked_file.read_text().splitlines())
        journal = [
            json.loads(line)
            for line in (folder / "out/records.jsonl").read_text().splitlines()
        ]
        recorded = Counter(
            line["key"]
            for line in journal
            if line["kind"] == "output" and "#" in line["task"]
        )
    again = sum(count - 1 for count in asked.values())
    twice = sum(count - 1 for count in recorded.values())
    print(
        f"{kills} kills, exit code {done.returncode}: {len(asked)} of {samples * exchanges} exchanges asked, "
        f"{again} asked again (in flight when killed), {twice} recorded twice"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=0)
    options = parser.parse_args()
    if options.kills:
        measure_kills(options.kills)
    else:
        measure_cpu()
