"""What readers of the viewer's pages see: formatting, loading, filters, charts, phones and paper."""

import hashlib
import threading
from pathlib import Path

import pytest
from browser import Browser, Viewer, needs_browser
from made_runs import answered, judged, result, sums, write_run

from assay.comparison.board_rendering import PAGE
from assay.report.grid import html_grid
from assay.view.report_file import html_report
from assay.view.view_server import ANSWERS

pytestmark = [needs_browser, pytest.mark.xdist_group("browser")]
MARKDOWN = r"""## Solution

Take $\frac{a+b}{2}$, then **add** it. See [the page](https://example.org/x) and ![beacon](https://example.org/y.png).

1. Let \(x^2 \le \sqrt{3}\)
2. Use `len(x)`:

```python
def f(x):
    return "<b>x</b>"
```

| n | value |
|---|-------|
| 1 | 3.5   |

$$\sum_{i=1}^{n} i = \frac{n(n+1)}{2}$$

$\unknowncommand{x}$

The answer is \boxed{42}."""


def run_id(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:10]


@pytest.fixture
def two_runs(tmp_path: Path) -> Path:
    sums(tmp_path / "first", right=30)
    sums(tmp_path / "second", right=20)
    return tmp_path


def enter(window: Browser, server: Viewer) -> None:
    window.open(server.link())
    window.wait("document.querySelector('.run-name, .notice')")


def open_sample(window: Browser, viewer, folder: Path, *lines) -> None:
    write_run(folder / "run", lines)
    server = viewer(folder)
    enter(window, server)
    window.open(f"{server.address}/#/run/{run_id('run')}/samples")
    window.wait("document.querySelector('.sample h1')")


def test_the_first_sample_opens_by_itself(window: Browser, viewer, two_runs: Path):
    server = viewer(two_runs)
    enter(window, server)

    window.open(f"{server.address}/#/run/{run_id('first')}/samples")
    window.wait("document.querySelector('.sample h1')?.textContent === 's000'")

    assert window.text(".side > p") == "1 / 40 samples"
    window.open(f"{server.address}/#/run/{run_id('first')}/samples?score=wrong")
    window.wait("document.querySelector('.sample h1')?.textContent === 's030'")


def test_markdown_code_and_formulas_are_formatted_and_plain_text_is_one_click_away(
    window: Browser, viewer, tmp_path: Path
):
    open_sample(
        window,
        viewer,
        tmp_path,
        answered("a", "?", MARKDOWN),
        judged("a", 1.0, answer="42"),
    )

    def has(selector: str) -> bool:
        return window.js(
            "return !!document.querySelector('.answer-box ' + arguments[0])", selector
        )

    for selector in ("strong", "ol li", "pre code", "table.given td", "math mfrac"):
        assert has(selector), selector
    assert window.text(".answer-box .heading") == "Solution"
    assert window.text(".answer-box pre code") == 'def f(x):\n    return "<b>x</b>"'
    assert "\\unknowncommand{x}" in window.text(".answer-box .text")
    assert "https://example.org/x" in window.text(".answer-box")
    assert not has("a") and not has("img")
    assert window.text(".answer-box mark") == "42"
    assert window.axe() == []
    window.click(".format")
    assert window.text(".answer-box .text") == MARKDOWN
    window.click(".format")
    assert has("strong")
    window.count()
    assert (window.foreign, window.violations, window.ran) == ([], [], 0)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("answer", "read", "heading", "marked"),
    [
        ("# Plan\n\nGo **on**. \n", "# Plan\n\nGo **on**.", "Plan", ""),
        ("Well.\n\n## 42 apples", "## 42 apples", "42 apples", "42 apples"),
    ],
)
def test_headings_stay_headings_whatever_was_read(
    answer, read, heading, marked, window: Browser, viewer, tmp_path: Path
):
    lines = (answered("a", "?", answer), judged("a", 1.0, answer=read))
    open_sample(window, viewer, tmp_path, *lines)

    marks = window.js(
        "return [...document.querySelectorAll('.answer-box mark')].map((m) => m.textContent)"
    )

    assert window.text(".answer-box .heading") == heading
    assert "".join(marks) == marked


@pytest.mark.costly
def test_text_of_a_language_from_right_to_left_is_set_that_way(
    window: Browser, viewer, tmp_path: Path
):
    words = "ما هي عاصمة فرنسا؟"
    lines = [answered("a", words, f"- {words}\n- **{words}**", words)]
    open_sample(window, viewer, tmp_path, *lines, judged("a", 1.0, answer=words))

    window.wait("document.querySelector('.row .question').textContent.length > 3")
    directions = window.js(
        "return ['.row .question', '.turn.user .text', '.answer-box li', '.target .text', '.read']"
        ".map((s) => getComputedStyle(document.querySelector(s)).direction)"
    )
    assert directions == ["rtl"] * 5


@pytest.mark.costly
def test_the_chips_count_all_changed_samples_though_the_list_is_cut(
    window: Browser, viewer, two_runs: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("assay.view.comparison_pages.MOST_FLIPS", 4)
    server = viewer(two_runs)
    enter(window, server)

    window.open(f"{server.address}/#/compare/{run_id('first')}/{run_id('second')}")
    window.wait("document.querySelectorAll('.flip').length === 4")

    chips = window.js(
        "return [...document.querySelectorAll('.comparison .chip')].map((c) => c.textContent)"
    )
    assert chips == ["All 10", "Up 0", "Down 10"]
    assert "First 4 shown" in window.text(".comparison")


@pytest.mark.costly
def test_a_page_that_takes_long_says_that_it_is_loading(
    window: Browser, viewer, two_runs: Path, monkeypatch: pytest.MonkeyPatch
):
    go_on = threading.Event()
    read = ANSWERS["compare"]

    def slow(query):
        go_on.wait(60)
        return read(query)

    monkeypatch.setitem(ANSWERS, "compare", slow)
    server = viewer(two_runs)
    enter(window, server)
    window.js(f"location.hash = '#/compare/{run_id('first')}/{run_id('second')}'")

    window.wait("document.querySelector('.loading')?.offsetParent")
    assert "Loading" in window.text("main") and "first" not in window.text("main")
    go_on.set()
    window.wait("document.querySelector('.sentence')")


@pytest.mark.costly
def test_an_expression_filters_samples_and_a_fault_in_it_is_reported(
    window: Browser, viewer, two_runs: Path
):
    server = viewer(two_runs)
    enter(window, server)
    window.open(f"{server.address}/#/run/{run_id('first')}/samples")
    window.wait("document.querySelector('.sample h1')")
    give = (
        "const box = document.querySelector('.where'); box.value = arguments[0];"
        "box.dispatchEvent(new Event('change'))"
    )

    window.js(give, "score < 0.5 and tag.size == large and id != s031")
    window.wait(
        "/ 9 of 40 samples/.test(document.querySelector('.side > p').textContent)"
    )
    assert "where=score" in window.js("return location.hash")

    window.js(give, "scoer < 1")
    window.wait("document.querySelector('#where-fault').textContent")
    assert "did you mean 'score'" in window.text("#where-fault")
    assert "40 samples" in window.text(".side > p")

    window.js(give, "id == s007")
    window.wait(
        "/1 of 40 samples/.test(document.querySelector('.side > p').textContent)"
    )


@pytest.mark.costly
def test_a_search_without_a_hit_says_so_and_the_filters_can_be_cleared(
    window: Browser, viewer, two_runs: Path
):
    server = viewer(two_runs)
    enter(window, server)
    window.open(f"{server.address}/#/run/{run_id('first')}/samples")
    window.wait("document.querySelector('.sample h1')")

    window.js(
        "const s = document.querySelector('.filters input'); s.value = 'zebra';"
        "s.dispatchEvent(new Event('input'))"
    )
    window.wait("/No sample passes/.test(document.querySelector('.panel').textContent)")
    assert window.text(".side > p") == "0 of 40 samples"

    window.click(".panel .lonely button")
    window.wait("document.querySelector('.sample h1')?.textContent === 's000'")


@pytest.mark.costly
def test_an_unknown_address_says_so(window: Browser, viewer, two_runs: Path):
    server = viewer(two_runs)
    enter(window, server)

    window.open(f"{server.address}/#/nonsense")
    window.wait("/no such page/.test(document.querySelector('h1').textContent)")

    assert "#/nonsense" in window.text("main")


@pytest.mark.costly
def test_the_leaderboard_ranks_models_with_links_to_their_runs(
    window: Browser, viewer, tmp_path: Path
):
    models(tmp_path)
    server = viewer(tmp_path)
    enter(window, server)

    window.click(".actions .button")
    window.wait("document.querySelector('.board')")

    rows = window.js(
        "return [...document.querySelectorAll('.board tbody tr')].map((r) => r.textContent)"
    )
    assert [row[:6] for row in rows] == ["1large", "2small"]
    assert window.js("return document.querySelector('.board a').hash").startswith(
        "#/run/"
    )
    assert window.axe() == []


def models(folder: Path) -> None:
    """Write runs of two models, one of which is clearly better."""
    for name, right in (("small", 10), ("large", 35)):
        lines = []
        for n in range(40):
            answer = answered(f"s{n:03}", "?", "x") | {"model": name}
            verdict = judged(f"s{n:03}", float(n < right), order=n) | {"model": name}
            lines += [answer, verdict]
        described = {
            "format": 2,
            "status": "complete",
            "config": {"tasks": ["sums"], "models": [name]},
            "cells": [
                {
                    "task": "sums",
                    "protocol": "sums",
                    "model": name,
                    "scorers": {"exact": "d"},
                    "options": {},
                }
            ],
        }
        row = result("sums", "exact", right / 40, 40, model=name)
        write_run(folder / name, lines, [row], described)


@pytest.mark.costly
def test_charts_have_axes_no_single_bar_and_the_scale_of_the_list(
    window: Browser, viewer, tmp_path: Path
):
    for name, value in (("first", 2.987), ("second", 1.0)):
        lines = []
        for n in range(20):
            lines += [answered(f"s{n}", "?", "x" * (33 + n)), judged(f"s{n}", 1.0)]
        row = result("sums", "judge", value, 20, details={"scale": [1, 5]})
        row |= {"ci": [value, value + 0.3]}
        write_run(tmp_path / name, lines, [row])
    server = viewer(tmp_path)
    enter(window, server)
    ends = "return [...document.querySelectorAll('.r-chart')].map((c) => c.textContent)"
    assert window.js(ends) == ["15", "15"]
    place = "return document.querySelector(`${arguments[0]} .r-chart .dot`).getAttribute('cx')"
    listed = window.js(place, "[aria-label='Run first']")

    window.open(f"{server.address}/#/run/{run_id('first')}")
    window.wait("document.querySelector('.figures svg')")

    assert window.js(place, ".results") == listed
    assert window.text(".card > .heads").startswith("TaskModelMetricValue")
    titles = window.js(
        "return [...document.querySelectorAll('.figures figcaption span')].map((s) => s.textContent)"
    )
    assert titles == ["Length of answers"]
    assert "All 20 samples: scored" in window.text(".figures")
    assert "characters of the answer" in window.text(".figures")
    assert "log scale" not in window.text(".figures")


@pytest.mark.costly
def test_pages_fit_a_phone(window: Browser, viewer, two_runs: Path):
    server = viewer(two_runs)
    enter(window, server)
    first, second = run_id("first"), run_id("second")
    pages = {
        "/#/": ".run-name",
        f"/#/run/{first}": ".figures svg",
        f"/#/run/{first}/label": ".label-box h1",
        f"/#/compare/{first}/{second}": ".sentence",
        "/#/leaderboard": ".board",
    }
    window.size(390, 844)
    try:
        for page, ready in pages.items():
            window.open(server.address + page)
            window.wait("document.querySelector(arguments[0])", ready)
            width = "return document.documentElement.scrollWidth"
            assert window.js(width) <= 390, page
            if page.endswith("/label"):
                columns = "return getComputedStyle(document.querySelector('.labelling')).gridTemplateColumns"
                assert len(window.js(columns).split()) == 1
            if page == f"/#/run/{first}":
                order = (
                    "const top = (s) => document.querySelector(s).getBoundingClientRect().top;"
                    "return top('.r-metric') < top('.r-value')"
                )
                assert window.js(order)
    finally:
        window.size(1280, 800)


@pytest.mark.costly
@pytest.mark.parametrize("page", ["run", "report"])
def test_paper_is_light_and_nothing_is_cut_on_it(
    window: Browser, viewer, two_runs: Path, page: str
):
    server = viewer(two_runs)
    enter(window, server)
    if page == "report":
        path = two_runs / "report.html"
        text = html_report([two_runs / "first", two_runs / "second"], samples=4)
        path.write_text(text, "utf-8")
        window.open(path.as_uri())
        window.wait("document.querySelectorAll('.tile').length === 8")
    else:
        window.open(f"{server.address}/#/run/{run_id('first')}")
        window.wait("document.querySelector('.figures svg')")
    media = [{"name": "prefers-color-scheme", "value": "dark"}]
    emulate = {"media": "print", "features": media}
    window.size(688, 1000)  # A4 without its margins
    window.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", emulate)
    try:
        colour = "return getComputedStyle(document.querySelector('h1')).color"
        assert window.js(colour) == "rgb(32, 38, 43)"
        wide = (
            "return [...document.querySelectorAll('main *')].filter((e) =>"
            " e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 80))"
        )
        assert window.js(wide) == []
    finally:
        window.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"media": "", "features": []}
        )
        window.size(1280, 800)


@pytest.mark.costly
def test_a_report_lists_failures_first(window: Browser, tmp_path: Path):
    lines = []
    for n in range(20):
        is_read = n < 8
        verdict = (
            judged(f"s{n:02}", 1.0) if is_read else judged(f"s{n:02}", None, "unparsed")
        )
        lines += [answered(f"s{n:02}", f"question {n}", "x"), {**verdict, "order": n}]
    folder = write_run(tmp_path / "run", lines, [result("sums", "exact", 0.4, 20)])
    path = tmp_path / "report.html"
    path.write_text(html_report([folder], samples=100), "utf-8")

    window.open(path.as_uri())
    window.wait("document.querySelectorAll('.tile').length === 20")

    scores = window.js(
        "return [...document.querySelectorAll('.tile .score')].map((s) => s.textContent)"
    )
    assert scores == ["unparsed"] * 12 + ["1"] * 8
    assert "20 of 20" in window.text("main")


@pytest.mark.costly
def test_very_short_times_are_not_shown_as_zero(
    window: Browser, viewer, tmp_path: Path
):
    line = answered("a", "?", "x")
    line["output"]["seconds"] = 0.00002

    open_sample(window, viewer, tmp_path, line, judged("a", 1.0))

    assert "< 0.1 ms" in window.text(".panel") and "0.0 ms" not in window.text(".panel")


@pytest.mark.costly
def test_the_live_page_shows_how_far_a_generator_with_a_limit_is(
    window: Browser, viewer, tmp_path: Path
):
    from made_runs import manifest

    from assay.store import RunWriter

    described = manifest("sums", config={"tasks": ["sums"], "limit": 8})
    with RunWriter(tmp_path / "going") as writer:
        writer.write_manifest({**described, "status": "running"})
        for n in range(2):
            writer.journal.append(answered(f"s{n}", "?", "4"))
        writer.journal.flush()
        server = viewer(tmp_path)
        enter(window, server)
        window.open(f"{server.address}/#/run/{run_id('going')}/live")
        window.wait("/2 of at most 8/.test(document.body.textContent)")

        assert window.js("return document.querySelector('progress').value") == 0.25


@pytest.mark.costly
def test_the_live_page_says_how_many_tasks_have_started(
    window: Browser, viewer, tmp_path: Path
):
    from made_runs import manifest

    from assay.store import RunWriter

    described = manifest("sums", "words", config={"tasks": ["sums", "words"]})
    with RunWriter(tmp_path / "going") as writer:
        writer.write_manifest({**described, "status": "running"})
        writer.journal.append(answered("s0", "?", "4"))
        writer.journal.flush()
        server = viewer(tmp_path)
        enter(window, server)
        window.open(f"{server.address}/#/run/{run_id('going')}/live")

        window.wait("/1 of 2 tasks/.test(document.body.textContent)")


@pytest.mark.costly
def test_a_comparison_shows_answers_without_their_reasoning(
    window: Browser, viewer, tmp_path: Path
):
    for name, word, value in (("first", "four", 1.0), ("second", "five", 0.0)):
        parts = [
            {"type": "reasoning", "text": "secret thoughts"},
            {"type": "text", "text": word},
        ]
        candidates = [{"parts": parts, "stop_reason": "stop"}]
        lines = []
        for n in range(20):
            lines += [
                answered(f"s{n}", "2 + 2?", candidates, "four"),
                {**judged(f"s{n}", value), "order": n},
            ]
        write_run(tmp_path / name, lines, [result("sums", "exact", value, 20)])
    server = viewer(tmp_path)
    enter(window, server)
    window.open(f"{server.address}/#/compare/{run_id('first')}/{run_id('second')}")
    window.wait("document.querySelector('.flip summary')")

    window.click(".flip summary")
    window.wait("document.querySelector('.pairwise .text')")

    shown = window.js(
        "return [...document.querySelectorAll('.pairwise .grid > .card > .text')].map((e) => e.textContent)"
    )
    assert shown == ["four", "five"]


@pytest.mark.costly
@pytest.mark.parametrize("width", [1280, 390])
def test_the_leaderboard_as_a_file_is_no_wider_than_its_window(
    window: Browser, tmp_path: Path, width: int
):
    cells = [str(n) for n in range(30)]
    table = html_grid([f"a long heading {n}" for n in range(30)], [cells])
    path = tmp_path / "board.html"
    path.write_text(PAGE.format(table=table, notes=f"<li>{'x' * 300}</li>"), "utf-8")

    try:
        window.size(width, 800)
        window.open(path.as_uri())

        page = window.js("return document.documentElement.scrollWidth")
        assert page <= width
    finally:
        window.size(1280, 800)
