"""The work that the dialect adds to a row.

It is counted in calls of Python functions, because these do not depend on the load of the machine.
"""

import sys
import threading
from typing import ClassVar

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
    """Count the Python functions that are called, in all threads."""
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def test_a_row_takes_at_most_a_quarter_more_calls_than_in_a_native_run(project):
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

    assert calls_per_row(guest) <= 1.25 * calls_per_row(native)
