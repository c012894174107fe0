"""The work that the dialect adds to a row.

It is counted in calls of assay's functions, because these do not depend on the load of the machine. How often
asyncio wakes up does.
"""

import sys
import threading
from pathlib import Path
from typing import ClassVar

import assay
from assay.core import Task
from assay.runner.run import run

NATIVE = """
def generate(messages):
    return messages[-1]["content"]
"""


class Contains:
    """The evaluator of the project as a native scorer that runs in threads."""

    blocking: ClassVar[bool] = True

    def __call__(self, sample, output):
        return float(sample.target in output.text)


def calls_in(function):
    """Count the calls of assay's Python functions, in all threads."""
    package = str(Path(assay.__file__).parent)
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        if event == "call" and frame.f_code.co_filename.startswith(package):
            calls += 1

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def test_a_row_takes_at_most_a_fifth_more_calls_than_in_a_native_run(project):
    model = project.write("native.py", NATIVE)

    def native(output):
        task = Task(
            "native",
            project.root / "data/rows.jsonl",
            template=[{"role": "user", "content": "{{query}}"}],
            columns={"id": "key", "input": "query", "target": "answer"},
            scorers=(Contains(),),
        )
        return run(task, f"{model}:generate", output=str(project.root / output))

    def guest(output):
        return project.run("task", output=output)

    def calls_per_row(run_rows):
        calls = []
        for count in (10, 200, 400):  # the first run also imports modules
            project.rows(
                *(
                    {"key": f"s{n}", "query": f"say {n}", "answer": str(n)}
                    for n in range(count)
                )
            )
            output = f"{run_rows.__name__}-{count}"
            calls.append(calls_in(lambda output=output: run_rows(output)))
        return (calls[2] - calls[1]) / 200

    assert calls_per_row(guest) <= 1.2 * calls_per_row(native)
