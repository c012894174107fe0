"""The viewer: a journal of 100,000 samples (116 MB) indexed, listed, filtered and searched; a report of 10,000.

Figures are wall-clock seconds of this machine; those of the browser need chromium and chromedriver.

    python bench/viewer.py [--samples 100000] [--no_browser]
"""

import argparse
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

from measured import ASSAY

from assay.store import RunWriter
from assay.store.journal import OutputLine, ScoreLine, seal

SUBJECTS = (
    "law",
    "physics",
    "history",
    "music",
    "logic",
    "anatomy",
    "ethics",
    "botany",
)
WORDS = (  # noqa: SIM905
    "the of a in to river castle seven answer because light number green found over time paper round small quiet early "
    "winter train letter house stone garden market bridge morning evening yellow engine winter harbour copper"
).split()
INDEX = """
import json, sys, time
from pathlib import Path
from assay.store.layout import Layout
from assay.view.index_file import open_index
start, cpu = time.perf_counter(), time.process_time()
index = open_index(Layout(Path(sys.argv[1])))
print(json.dumps([time.perf_counter() - start, time.process_time() - cpu, len(index)]))
"""


def write_journal(path: Path, samples: int) -> None:
    """Questions and answers of some hundred characters, two lines a sample, as a run writes them."""
    draw = random.Random(7)
    with path.open("wb") as file:
        for number in range(samples):
            question = " ".join(draw.choices(WORDS, k=55))
            text = (
                f"{' '.join(draw.choices(WORDS, k=30))}. ANSWER: {'ABCD'[number % 4]}"
            )
            right = draw.random() < 0.7
            outcome = "scored" if draw.random() < 0.98 else "unparsed"
            usage = {
                "input_tokens": 120 + number % 50,
                "output_tokens": 60 + number % 30,
            }
            output = {
                "candidates": [{"text": text, "stop_reason": "stop"}],
                "usage": usage,
            }
            output["seconds"] = round(draw.lognormvariate(0, 0.6), 6)
            key = f"{draw.getrandbits(128):032x}"
            prompt = [
                {"role": "system", "content": "Answer with a letter."},
                {"role": "user", "content": question},
            ]
            id, target = f"q{number}", "ABCD"[number % 4]
            file.write(
                seal(
                    OutputLine(
                        "bench",
                        "model",
                        id,
                        key,
                        prompt=prompt,
                        output=output,
                        target=target,
                    )
                )
            )
            values = {"choice": 1.0 if right and outcome == "scored" else 0.0}
            tags = {
                "subject": SUBJECTS[number % len(SUBJECTS)],
                "level": str(number % 3),
            }
            more = {
                "answer": target,
                "details": {"rule": "answer line"},
                "tags": tags,
                "order": number,
            }
            file.write(
                seal(
                    ScoreLine(
                        "bench",
                        "model",
                        id,
                        "choice",
                        f"{number:028x}",
                        values,
                        outcome,
                        **more,
                    )
                )
            )


def finish(folder: Path) -> None:
    """Finish the run as every run finishes, so that readers know that it is complete."""
    with RunWriter(folder) as writer:
        cells = [
            {
                "task": "bench",
                "model": "model",
                "protocol": "bench",
                "scorers": {"choice": "d"},
            }
        ]
        writer.finish(
            {"format": 2, "status": "complete", "config": {}, "cells": cells},
            {"results": [], "notes": []},
        )


def timed(what: str, work: object, repeats: int = 5, pid: int | None = None) -> object:
    """Print the median of several tries, also in CPU time of a server. Return the last result."""
    spent = []
    found = None
    before = cpu_of(pid) if pid else 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        found = work()  # type: ignore[operator]
        spent.append(time.perf_counter() - start)
    cpu = f"   ({(cpu_of(pid) - before) / repeats * 1000:.0f} ms of CPU)" if pid else ""
    print(f"{what:<44} {statistics.median(spent) * 1000:9.1f} ms{cpu}")
    return found


def cpu_of(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int, name: str = "VmHWM") -> float:
    """Megabytes of a process: its peak, or what it holds now (`VmRSS`)."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 1000  # type: ignore[index]


class Server:
    """`assay view` in a process of its own, asked as a browser would."""

    def __init__(self, folder: Path) -> None:
        start = time.perf_counter()
        command = [*ASSAY, "view", str(folder), "--no_browser"]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self.process.stdout is not None
        self.process.stdout.readline()
        self.link = self.process.stdout.readline().strip()
        self.address, _, token = self.link.partition("/#token=")
        self._opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(CookieJar())
        )
        while True:
            try:
                self._opener.open(self.address, timeout=30).read()
                break
            except OSError:
                time.sleep(0.01)
        spent, cpu = time.perf_counter() - start, cpu_of(self.process.pid)
        print(
            f"{'started, page answered':<44} {spent * 1000:9.1f} ms   ({cpu * 1000:.0f} ms of CPU)"
        )
        self._token = token

    def enter(self) -> None:
        """Buys the cookie; a token counts once, so a browser must come first."""
        request = urllib.request.Request(
            f"{self.address}/api/session", self._token.encode(), {"X-Assay": "1"}
        )
        self._opener.open(request).read()

    def get(self, path: str) -> bytes:
        """Return the response of an address."""
        return self._opener.open(f"{self.address}/{path}", timeout=60).read()


def served(folder: Path) -> None:
    """Measure the server's time for each request, and its memory."""
    server = Server(folder)
    try:
        server.enter()
        run = re.search(rb'"id":"(\w+)"', server.get("api/runs"))[1].decode()  # type: ignore[index]
        pid = server.process.pid
        columns = timed(
            "columns of all samples",
            lambda: server.get(f"api/columns?run={run}"),
            pid=pid,
        )
        print(f"{'their size':<44} {len(columns) / 1e6:9.2f} MB")  # type: ignore[arg-type]
        rows = ",".join(map(str, range(5000, 5040)))
        timed(
            "a page of 40 rows",
            lambda: server.get(f"api/rows?run={run}&rows={rows}"),
            pid=pid,
        )
        timed(
            "one sample", lambda: server.get(f"api/sample?run={run}&row=77777"), pid=pid
        )
        for words in ("castle seven answer", "copper", "not there at all"):
            path = f"api/search?run={run}&words={words.replace(' ', '%20')}"
            timed(f"search: {words}", lambda path=path: server.get(path), pid=pid)
        print(f"{'server, peak memory':<44} {memory(server.process.pid):9.1f} MB")
    finally:
        server.process.terminate()
        server.process.wait()


def shown(folder: Path) -> None:
    """Measure how long `assay show` takes to select samples of an indexed run, including the start of Python."""
    for options in (
        ["--wrong", "--limit", "1"],
        ["--where", "score<0.5 and tag.subject==law"],
        ["--grep", "copper"],
    ):
        before, start = (
            resource.getrusage(resource.RUSAGE_CHILDREN),
            time.perf_counter(),
        )
        subprocess.run(
            [*ASSAY, "show", str(folder), *options, "--ids"],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        spent, after = (
            time.perf_counter() - start,
            resource.getrusage(resource.RUSAGE_CHILDREN),
        )
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(
            f"{f'assay show {options[0]}':<44} {spent * 1000:9.1f} ms   ({cpu * 1000:.0f} ms of CPU)"
        )


def browsed(folder: Path) -> None:
    """First paint of the list of samples, a filter over all of them, and the browser's memory."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        print("no chromium and chromedriver here: the browser is not measured")
        return
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "view"))
    from browser import Browser

    server = Server(folder)
    window = Browser()
    try:
        window.open(server.link)
        link = window.wait("document.querySelector('.quiet-link')?.hash")
        window.open("about:blank")
        painted = []
        for _ in range(3):
            window.open(f"{server.address}/{link}")
            window.driver.refresh()
            painted.append(
                window.driver.execute_async_script(
                    "const done = arguments[0]; const look = () => document.querySelector('.row .question') ? "
                    "requestAnimationFrame(() => done(performance.now())) : requestAnimationFrame(look); look();"
                )
            )
        print(
            f"{'samples, first rows on the screen':<44} {statistics.median(painted):9.1f} ms"
        )
        spent = window.driver.execute_async_script(
            "const done = arguments[0]; (async () => {"
            "const { filtered } = await import('/app/samples.js');"
            "const { expanded } = await import('/app/source.js');"
            "const run = location.hash.split('/')[2];"
            "const columns = expanded(await (await fetch('api/columns?run=' + run)).json());"
            "const f = { outcome: 'scored', score: 'wrong', sort: 'low', tags: { subject: 'law' } };"
            "const times = []; let n = 0;"
            "for (let i = 0; i < 15; i++) { const t = performance.now(); n = filtered(columns, f, null).length;"
            "times.push(performance.now() - t); }"
            "done([times.sort((a, b) => a - b)[7], n]); })()"
        )
        print(
            f"{f'filter by outcome, score and tag, sorted: {spent[1]:,}':<44} {spent[0]:9.1f} ms"
        )
        window.keys(*["PAGE_DOWN"] * 20)
        window.keys("END")
        window.wait(
            "document.querySelector('.row[aria-selected=true]')?.textContent.includes('q99999') || true"
        )
        heap = (
            window.driver.execute_cdp_cmd("Runtime.getHeapUsage", {})["usedSize"] / 1e6
        )
        print(f"{'browser, heap of the page':<44} {heap:9.1f} MB")
        print(
            f"{'browser, its largest renderer process':<44} {_renderer(window.driver.service.process.pid):9.1f} MB"
        )
    finally:
        window.driver.quit()
        server.process.terminate()
        server.process.wait()


def _renderer(driver: int) -> float:
    """Return the memory of the page's process."""
    found = [0.0]
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"--type=renderer" in status.read_bytes():
                found.append(memory(int(status.parent.name), "VmRSS"))
        except (OSError, TypeError):
            continue
    return max(found)


def main() -> None:
    """Print a line for each figure."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--samples", type=int, default=100_000)
    arguments.add_argument("--no_browser", action="store_true")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "runs" / "big"
        folder.mkdir(parents=True)
        write_journal(folder / "records.jsonl", given.samples)
        print(
            f"{given.samples:,} samples, journal of {(folder / 'records.jsonl').stat().st_size / 1e6:.1f} MB"
        )
        for what in ("index made and kept", "index read from its file"):
            done = subprocess.run(
                [sys.executable, "-c", INDEX, str(folder)],
                capture_output=True,
                text=True,
                check=True,
            )
            wall, cpu, _ = (float(x) for x in re.findall(r"[\d.]+", done.stdout))
            print(f"{what:<44} {wall * 1000:9.1f} ms   ({cpu * 1000:.0f} ms of CPU)")
        print(
            f"{'index on disk':<44} {(folder / 'view.index').stat().st_size / 1e6:9.2f} MB"
        )
        finish(folder)
        shown(folder)
        served(folder.parent)
        if not given.no_browser:
            browsed(folder.parent)
        small = Path(place) / "ten"
        small.mkdir()
        write_journal(small / "records.jsonl", 10_000)
        command = [*ASSAY, "report", str(small), "-o", str(Path(place) / "report.html")]
        timed(
            "report of 10,000 samples",
            lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL),
            3,
        )
        print(
            f"{'its size':<44} {(Path(place) / 'report.html').stat().st_size / 1e6:9.2f} MB"
        )


if __name__ == "__main__":
    main()
