"""A run whose every field is hostile: nothing runs, nothing leaves this machine, and all of it is shown as text."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, file_host, needs_browser
from hostile import PAYLOADS
from made_runs import answered, judged, manifest, output_line, result, write_run

pytestmark = [needs_browser, pytest.mark.xdist_group("browser")]
FIELDS = (
    "id",
    "prompt",
    "output",
    "judge",
    "metric",
    "filename",
    "task",
    "model",
    "tag",
    "target",
    "role",
    "note",
)


def hostile_run(folder: Path, shift: int = 0) -> Path:
    """One sample for each payload, which stands in all fields at once."""
    lines: list[dict[str, Any]] = []
    for n, text in enumerate(PAYLOADS):
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        medium = {
            "type": "image",
            "sha256": text,
            "format": text,
            "path": f"/nowhere/{text}",
        }
        prompt = [
            {"role": "system", "content": text},
            {
                "role": text,
                "content": [
                    {"type": "text", "text": text},
                    medium,
                    {"type": text, "text": text},
                ],
            },
        ]
        made = [
            {"text": f"so {text} it is", "stop_reason": text},
            {
                "parts": [
                    {"type": "reasoning", "text": text},
                    {"type": "json", "value": {text: text}},
                    medium,
                ]
            },
        ]
        lines.append(
            {
                **answered(text, prompt, made, target=[text, {text: text}], task="x"),
                "details": {text: text},
            }
        )
        lines.append(
            output_line(
                "x#judge",
                text,
                key,
                key,
                [{"role": "user", "content": text}],
                {"candidates": [{"text": text}]},
            )
        )
        details = {
            "rule": text,
            "reason": text,
            "error": text,
            "asked": [["judge", key]],
            text: [text],
            "answers": [text],
        }
        lines.append(
            judged(
                text,
                None,
                task="x",
                values={text: float((n + shift) % 2), "exact": float((n + shift) % 2)},
                answer=text,
                details=details,
                tags={text: text, "kind": text},
                order=n,
            )
        )
    for text in PAYLOADS[:12]:
        lines.append(answered("own", text, text, task=text))
        lines.append(judged("own", None, task=text, outcome=text, values={}))
    results = [
        result(
            "x",
            "exact",
            sum((n + shift) % 2 for n in range(len(PAYLOADS))) / len(PAYLOADS),
            len(PAYLOADS),
        )
    ]
    for text in PAYLOADS:
        more = {
            "protocol": text,
            "model": text,
            "interval": f"none: {text}",
            "flags": [text],
            "outcomes": {text: 3, "scored": 1},
        }
        results.append(
            result(
                text,
                text,
                0.5,
                4,
                **more,
                groups={
                    text: {
                        text: result(text, text, 0.5, 2),
                        "b": result(text, text, 0.1, 2),
                    }
                },
            )
        )
    described = manifest("x", *PAYLOADS[:12])
    described["config"] |= {text: text for text in PAYLOADS[:20]} | {"shift": shift}
    described |= {
        "platform": PAYLOADS[0],
        "git": {"commit": PAYLOADS[3], "dirty": True},
        "versions": {PAYLOADS[1]: PAYLOADS[2]},
    }
    return write_run(folder, lines, results, described, notes=list(PAYLOADS))


def assert_harmless(window: Browser) -> None:
    window.count()
    assert (window.ran, window.foreign, window.violations) == (0, [], [])


def shown(text: str) -> str:
    """A text as a page has it: what is no character becomes the sign for that."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def test_every_page_of_a_hostile_run_is_text_and_nothing_else(
    window: Browser, viewer, tmp_path: Path
):
    name = PAYLOADS[2].replace("/", "|")
    hostile_run(tmp_path / "a")
    hostile_run(tmp_path / name, shift=1)
    server = viewer(tmp_path)
    run, other = (hashlib.sha256(n.encode()).hexdigest()[:10] for n in ("a", name))
    window.open(server.link())
    window.wait("document.querySelectorAll('.run-name').length === 2")
    assert PAYLOADS[0] in window.text("main")
    assert_harmless(window)

    window.open(f"{server.address}/#/run/{run}")
    window.wait("document.querySelector('.figures svg')")
    assert all(
        shown(text) in window.text("main") for text in PAYLOADS if text.isprintable()
    )
    assert_harmless(window)

    window.open(f"{server.address}/#/compare/{run}/{other}")
    window.wait("document.querySelector('.sentence')")
    for n in range(5):
        window.click(".flip > summary", n)
    window.wait("document.querySelectorAll('.pairwise .card').length >= 35")
    assert_harmless(window)


@pytest.mark.costly
def test_every_sample_of_a_hostile_run_is_read_without_anything_running(
    window: Browser, viewer, tmp_path: Path
):
    hostile_run(tmp_path / "a")
    server = viewer(tmp_path)
    run = hashlib.sha256(b"a").hexdigest()[:10]
    window.open(server.link())
    window.wait("document.querySelector('.run-name')")
    window.js("localStorage.setItem('assay-plain-text', '1')")
    window.open(f"{server.address}/#/run/{run}/samples")
    window.wait("document.querySelectorAll('.row').length > 4")

    for number, text in enumerate(PAYLOADS):
        window.keys("ARROW_DOWN" if number else "HOME")
        verbatim = shown(text).replace("\r", "")
        window.wait(
            "document.querySelector('.sample h1')?.textContent === arguments[0]",
            verbatim,
        )
        panel = window.text(".panel")
        assert panel.count(verbatim) >= 8, text
        window.js(
            "for (const d of document.querySelectorAll('.panel details')) d.open = true"
        )
        window.js("document.querySelector('.format')?.click()")
        assert_harmless(window)
        window.js("document.querySelector('.format')?.click()")
    window.js(
        "for (const a of document.querySelectorAll('main a, main button')) { if (!a.href || a.hash) a.click(); }"
    )

    assert_harmless(window)


@pytest.mark.costly
def test_a_hostile_run_is_harmless_as_a_bundle_and_as_a_report(
    window: Browser, tmp_path: Path
):
    from assay.view.report_file import html_report
    from assay.view.saved_pages import write_bundle

    folder = hostile_run(tmp_path / "runs" / "a")
    write_bundle(tmp_path / "runs", tmp_path / "site")
    page = tmp_path / "report.html"
    page.write_text(html_report([folder], samples=60), "utf-8")

    with file_host(tmp_path / "site") as address:
        window.open(f"{address}/#/run/{hashlib.sha256(b'a').hexdigest()[:10]}/samples")
        window.wait("document.querySelectorAll('.row').length > 4")
        window.keys(*["ARROW_DOWN"] * 6)
        window.wait("document.querySelector('.sample h1')")
        assert_harmless(window)
    window.open(page.as_uri())
    window.wait("document.querySelectorAll('.tile').length > 50")
    window.js("for (const d of document.querySelectorAll('details')) d.open = true")
    window.wait("document.querySelectorAll('.tile .sample').length > 50")
    assert all(shown(text) in window.text() for text in PAYLOADS if text.isprintable())
    assert_harmless(window)
