"""The viewer in a real browser: what a reader does, and what goes wrong."""

import hashlib
import json
import shutil
import time
from pathlib import Path

import pytest
from browser import Browser, file_host, needs_browser
from made_runs import (
    answered,
    judged,
    manifest,
    output_line,
    png,
    result,
    sums,
    wav,
    webm,
    write_run,
)

import assay
from assay.core import Audio, Image, Video
from assay.models.scripted import Scripted
from assay.view.report_file import html_report
from assay.view.saved_pages import write_bundle

pytestmark = [needs_browser, pytest.mark.xdist_group("browser")]


def run_id(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:10]


@pytest.fixture
def two_runs(tmp_path: Path) -> Path:
    sums(tmp_path / "first", right=30)
    sums(tmp_path / "second", right=20)
    return tmp_path


def test_the_list_shows_every_run_with_its_number_and_interval(
    window: Browser, viewer, two_runs: Path
):
    window.open(viewer(two_runs).link())

    window.wait("document.querySelectorAll('.run-name').length === 2")
    text = window.text("main")

    assert "0.750" in text and "0.500" in text and "0.650 – 0.850" in text
    assert "token" not in window.js("return location.href")


def test_arrow_keys_go_through_samples_and_the_address_follows(
    window: Browser, viewer, two_runs: Path
):
    server = viewer(two_runs)
    window.open(server.link())
    window.wait("document.querySelector('.run-name')")
    window.open(f"{server.address}/#/run/{run_id('first')}/samples")
    window.wait("document.querySelectorAll('.row').length > 5")

    window.keys("ARROW_DOWN", "ARROW_DOWN", "ARROW_UP")
    window.wait("document.querySelector('.sample h1')?.textContent === 's001'")

    assert "id=s001" in window.js("return location.hash")
    assert (
        window.js(
            "return document.querySelector('.row[aria-selected=true]').textContent"
        ).find("s001")
        >= 0
    )


@pytest.mark.costly
def test_a_deep_link_opens_its_sample_with_the_filter_and_the_answer_marked(
    window: Browser, viewer, two_runs: Path
):
    server = viewer(two_runs)
    window.open(server.link())
    window.wait("document.querySelector('.run-name')")

    window.open(
        f"{server.address}/#/run/{run_id('first')}/samples?score=wrong&tag.size=large&id=s035"
    )
    window.wait("document.querySelector('.sample h1')?.textContent === 's035'")

    assert "6 / 10 of 40" in window.text(".side > p")
    assert window.text(".conversation mark") == "71"
    assert "last number" in window.text(".verdict-box")


@pytest.mark.costly
def test_words_are_searched_in_questions_and_answers(
    window: Browser, viewer, two_runs: Path
):
    server = viewer(two_runs)
    window.open(server.link())
    window.wait("document.querySelector('.run-name')")
    window.open(f"{server.address}/#/run/{run_id('first')}/samples")
    window.wait("document.querySelector('.row')")

    window.js(
        "const s = document.querySelector('.filters input'); s.focus(); s.value = 'what IS 17';"
        "s.dispatchEvent(new Event('input'))"
    )
    window.wait("document.querySelectorAll('.row').length === 1")

    assert "s017" in window.text(".row")
    assert window.js(
        "return document.activeElement === document.querySelector('.filters input')"
    )


@pytest.mark.costly
def test_a_long_list_keeps_few_rows_on_the_page_and_its_end_is_reached(
    window: Browser, viewer, tmp_path: Path
):
    sums(tmp_path / "run", count=3000, right=1000)
    server = viewer(tmp_path)
    window.open(server.link())
    window.wait("document.querySelector('.run-name')")
    window.open(f"{server.address}/#/run/{run_id('run')}/samples")
    window.wait("document.querySelector('.row')")

    window.keys("END")
    window.wait("document.querySelector('.sample h1')?.textContent === 's2999'")

    assert window.js("return document.querySelectorAll('.row').length") < 40
    assert "s2999" in window.text(".row[aria-selected=true]")
    assert window.text(".side > p").startswith("3,000 / 3,000")


def test_two_ticked_runs_are_compared_with_the_sentence_and_both_answers(
    window: Browser, viewer, two_runs: Path
):
    window.open(viewer(two_runs).link())
    window.wait("document.querySelectorAll('.card input').length === 2")

    window.click(".card input", 0)
    window.click(".card input", 1)
    window.click(".tray .button")
    sentence = window.wait("document.querySelector('.sentence')?.textContent")
    window.click(".flip > summary")
    window.wait("document.querySelector('.pairwise del, .pairwise ins')")

    assert (
        "points" in sentence
        and "95 % interval" in sentence
        and "10" in sentence
        and "of 40" in sentence
    )
    answers = window.js(
        "return [...document.querySelectorAll('.pairwise .grid .card > .text')].map((t) => t.textContent)"
    )
    assert sorted(answers) == ["It is 40.", "It is 41."]


def test_images_audio_and_candidates_are_shown(window: Browser, viewer, tmp_path: Path):
    picture, tone = Image(png()), Audio(wav())
    prompt = [
        {
            "role": "user",
            "content": [
                {"type": "image", "sha256": picture.digest, "format": "png"},
                {"type": "text", "text": "Say it"},
            ],
        }
    ]
    made = [
        {
            "parts": [
                {
                    "type": "audio",
                    "sha256": tone.digest,
                    "format": "wav",
                    "seconds": 0.5,
                }
            ]
        },
        {"text": "second try"},
    ]
    lines = [
        answered("a", prompt, made, task="say"),
        judged(
            "a",
            1.0,
            task="say",
            candidates=[1.0, 0.0],
            details={"answers": ["x", "try"]},
        ),
    ]
    write_run(
        tmp_path / "media",
        lines,
        [result("say", "exact", 1.0, 1)],
        manifest("say"),
        media=[picture, tone],
    )
    server = viewer(tmp_path)
    window.open(server.link())
    window.wait("document.querySelector('.run-name')")

    window.open(f"{server.address}/#/run/{run_id('media')}/samples?id=a")
    window.wait("document.querySelector('.medium img')?.naturalWidth === 32")
    window.wait("document.querySelectorAll('.wave rect').length > 20")
    window.wait("document.querySelector('audio').duration > 0.4")

    assert (
        window.js("return document.querySelectorAll('.beside .answer-box').length") == 2
    )
    assert window.text(".beside mark") == "try"


@pytest.mark.costly
def test_a_video_plays_and_jumps_to_any_time_live_and_in_a_report(
    window: Browser, viewer, tmp_path: Path
):
    pytest.importorskip("av", reason="PyAV, which makes the video, is not installed")
    film = Video(webm())
    content = [
        {"type": "video", "sha256": film.digest, "format": "webm"},
        {"type": "text", "text": "What happens?"},
    ]
    lines = [
        answered(
            "v",
            [{"role": "user", "content": content}],
            "It grows brighter.",
            task="films",
        ),
        judged("v", 1.0, task="films"),
    ]
    write_run(
        tmp_path / "runs" / "films",
        lines,
        [result("films", "exact", 1.0, 1)],
        manifest("films"),
        media=[film],
    )
    (tmp_path / "report.html").write_text(
        html_report([tmp_path / "runs" / "films"]), "utf-8"
    )
    server = viewer(tmp_path / "runs")
    window.open(server.link())
    window.wait("document.querySelector('.run-name')")

    for address in (
        f"{server.address}/#/run/{run_id('films')}/samples?id=v",
        (tmp_path / "report.html").as_uri(),
    ):
        window.open(address)
        window.js(
            "document.querySelectorAll('details').forEach((d) => { d.open = true; })"
        )
        window.wait("document.querySelector('video')?.duration > 1.5")
        window.js(
            "const v = document.querySelector('video'); v.muted = true; v.currentTime = 1.2; v.play()"
        )
        window.wait("document.querySelector('video').currentTime >= 1.3")

        assert window.js("return document.querySelector('video').videoWidth") == 64


@pytest.mark.costly
def test_the_place_that_a_scorer_names_is_marked_also_behind_an_emoji(
    window: Browser, viewer, tmp_path: Path
):
    text = "😀 The answer is B. (B stands for 'both'.) B"
    place = [text.index("B"), text.index("B") + 1]
    lines = [
        answered("a", "?", text),
        judged("a", 1.0, answer="B", details={"span": place}),
    ]
    write_run(tmp_path / "run", lines, [result("sums", "exact", 1.0, 1)])
    server = viewer(tmp_path)
    window.open(server.link())
    window.wait("document.querySelector('.run-name')")

    window.open(f"{server.address}/#/run/{run_id('run')}/samples?id=a")
    window.wait("document.querySelector('.conversation mark')")

    before = "return document.querySelector('.conversation mark').previousSibling.textContent"
    assert (
        window.text(".conversation mark") == "B"
        and window.js(before) == "😀 The answer is "
    )


@pytest.mark.costly
def test_media_that_are_missing_or_broken_say_so(
    window: Browser, viewer, tmp_path: Path
):
    digest, markup = (
        "a" * 64,
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    )
    drawing = tmp_path / "drawing.svg"
    drawing.write_bytes(markup)
    parts = [
        {"type": "image", "sha256": digest, "format": "png"},
        {"type": "text", "text": "and"},
    ]
    svg = [
        {
            "type": "image",
            "sha256": hashlib.sha256(markup).hexdigest(),
            "format": "svg",
            "path": str(drawing),
        }
    ]
    lines = [
        answered("gone", [{"role": "user", "content": parts}], "x"),
        answered("svg", [{"role": "user", "content": svg}], "y"),
    ]
    write_run(tmp_path / "runs" / "broken", lines)
    server = viewer(tmp_path / "runs")
    window.open(server.link())
    window.wait("document.querySelector('.run-name')")

    window.open(f"{server.address}/#/run/{run_id('broken')}/samples?id=gone")
    window.wait("document.querySelector('.medium .notice')")
    assert "is inside the dataset, whose files are missing" in window.text(".medium")
    window.open(f"{server.address}/#/run/{run_id('broken')}/samples?id=svg")
    window.wait(
        "document.querySelector('.sample h1')?.textContent === 'svg' && document.querySelector('.medium .notice')"
    )
    assert "not an image, audio or video file by its own bytes" in window.text(
        ".medium"
    )


@pytest.mark.costly
def test_rounds_are_turns_and_the_judge_is_heard(
    window: Browser, viewer, tmp_path: Path
):
    first = [{"role": "user", "content": "Name a river"}]
    second = [
        *first,
        {"role": "assistant", "content": "The Rhine"},
        {"role": "user", "content": "And a lake"},
    ]
    key = "c" * 32
    asked = output_line(
        "sums#judge",
        "the-judge",
        key,
        key,
        [{"role": "user", "content": "Is it right?"}],
        {"candidates": [{"text": "Nearly: 0.5"}]},
    )
    lines = [
        answered("d", first, "The Rhine"),
        answered("d", second, "Lake Como", round=1),
        asked,
    ]
    lines.append(
        judged("d", 0.5, details={"reason": "one of two", "asked": [["judge", key]]})
    )
    write_run(tmp_path / "talk", lines)
    server = viewer(tmp_path)
    window.open(server.link())
    window.wait("document.querySelector('.run-name')")

    window.open(f"{server.address}/#/run/{run_id('talk')}/samples?id=d")
    window.wait("document.querySelector('.judge')")

    turns = window.js(
        "return [...document.querySelectorAll('.conversation .turn .text')].map((t) => t.textContent)"
    )
    assert turns == ["Name a river", "The Rhine", "And a lake", "Lake Como"]
    assert (
        "the-judge" in window.text(".judge")
        and "Nearly: 0.5" in window.text(".judge")
        and "one of two" in window.text(".verdict-box")
    )


@pytest.mark.costly
def test_calls_and_results_are_blocks_that_fold_and_are_searched(
    window: Browser, viewer, tmp_path: Path
):
    task = tmp_path / "look.py"
    task.write_text(
        'dataset = [{"question": "Where is it?", "answer": "here"}]\n'
        "def look(place: str) -> str:\n"
        '    """Look."""\n'
        "    return 'zebra ' * 400\n"
        "tools = [look]\nscorers = ['includes']\n"
    )
    call = {"calls": [{"name": "look", "arguments": {"place": "attic"}}]}
    model = Scripted(rounds=[call, "here"])
    assay.run(str(task), model, output=str(tmp_path / "tools"), floors="off")
    server = viewer(tmp_path)
    window.open(server.link())
    window.wait("document.querySelector('.run-name')")
    window.open(f"{server.address}/#/run/{run_id('tools')}/samples?q=zebra")
    window.wait("document.querySelectorAll('.row').length === 1")
    window.js("document.querySelector('.row').click()")
    window.wait("document.querySelectorAll('details.call').length === 2")

    call_box, result_box = (
        window.js(
            f"const d = document.querySelectorAll('details.call')[{n}];"
            " return [d.open, d.textContent]"
        )
        for n in (0, 1)
    )

    assert call_box[0] is True and "look" in call_box[1] and "attic" in call_box[1]
    assert result_box[0] is False and "2,400 characters" in result_box[1]
    # The answer of the first round is not repeated in the prompt of the second.
    assert window.js("return document.querySelectorAll('.call dt').length") == 1


@pytest.mark.costly
def test_the_results_of_the_last_calls_are_shown_where_a_limit_ends_the_sample(
    window: Browser, viewer, tmp_path: Path
):
    task = tmp_path / "look.py"
    task.write_text(
        'dataset = [{"question": "Where is it?", "answer": "here"}]\n'
        "def look(place: str) -> str:\n"
        '    """Look."""\n'
        "    return f'nothing in the {place}'\n"
        "tools = [look]\nscorers = ['includes']\n"
    )
    call = {"calls": [{"name": "look", "arguments": {"place": "attic"}}]}
    model = Scripted(rounds=[call, call])
    assay.run(
        str(task), model, output=str(tmp_path / "tools"), floors="off", max_turns=1
    )
    server = viewer(tmp_path)
    window.open(server.link())
    window.wait("document.querySelector('.run-name')")

    window.open(f"{server.address}/#/run/{run_id('tools')}/samples?id=0")
    window.wait("document.querySelectorAll('details.call').length === 2")

    assert "nothing in the attic" in window.text(".conversation")


@pytest.mark.costly
def test_an_answer_of_ten_megabytes_leaves_the_page_alive(
    window: Browser, viewer, tmp_path: Path
):
    write_run(
        tmp_path / "long",
        [answered("big", "Go on", "word " * 2_000_000), judged("big", 0.0)],
    )
    server = viewer(tmp_path)
    window.open(server.link())
    window.wait("document.querySelector('.run-name')")

    window.open(f"{server.address}/#/run/{run_id('long')}/samples?id=big")
    window.wait("document.querySelector('.sample h1')?.textContent === 'big'")

    assert "more characters" in window.text(".answer-box")
    assert (
        window.js("return document.querySelector('.answer-box').textContent.length")
        < 400_000
    )


@pytest.mark.costly
def test_the_page_reports_a_damaged_line_and_a_torn_journal(
    window: Browser, viewer, tmp_path: Path
):
    folder = sums(tmp_path / "hurt", count=6, right=3)
    journal = folder / "records.jsonl"
    journal.write_bytes(
        journal.read_bytes().replace(b"What is 1 + 1", b"What is 1 - 1")
        + b'{"kind":"out'
    )
    server = viewer(tmp_path)
    window.open(server.link())
    window.wait("document.querySelector('.run-name')")

    window.open(f"{server.address}/#/run/{run_id('hurt')}")
    window.wait("document.querySelector('.notice.bad')")

    assert "damaged line" in window.text(".notice.bad")
    window.open(f"{server.address}/#/run/{run_id('hurt')}/samples")
    assert window.wait("document.querySelectorAll('.row').length === 6")


@pytest.mark.costly
def test_a_run_that_is_deleted_while_it_is_viewed_is_reported_as_gone(
    window: Browser, viewer, two_runs: Path
):
    server = viewer(two_runs)
    window.open(server.link())
    window.wait("document.querySelector('.run-name')")
    window.open(f"{server.address}/#/run/{run_id('first')}/samples")
    window.wait("document.querySelectorAll('.row').length > 3")

    shutil.rmtree(two_runs / "first")
    window.click(".row", 2)

    window.wait("/no longer there/.test(document.querySelector('.panel').textContent)")
    window.open(f"{server.address}/#/")
    window.wait("document.querySelectorAll('.run-name').length === 1")


@pytest.mark.costly
def test_a_folder_with_an_unreadable_run_still_lists_the_others(
    window: Browser, viewer, two_runs: Path
):
    (two_runs / "broken").mkdir()
    (two_runs / "broken" / "run.json").write_text("{not json")

    window.open(viewer(two_runs).link())
    window.wait("document.querySelectorAll('.run-name').length === 3")

    assert "not valid JSON" in window.text("main")


@pytest.mark.costly
def test_without_the_link_the_page_shows_a_sentence_and_no_number(
    window: Browser, viewer, two_runs: Path
):
    server = viewer(two_runs)
    window.driver.delete_all_cookies()

    window.open(f"{server.address}/")
    window.wait("document.querySelector('.notice')")

    assert "Open the link" in window.text("main") and "0.750" not in window.text()


@pytest.mark.costly
def test_a_run_in_progress_is_watched(window: Browser, viewer, tmp_path: Path):
    import assay.store as store

    described = manifest("sums")
    described["cells"][0]["n_expected"] = 8
    with store.RunWriter(tmp_path / "going") as writer:
        writer.write_manifest({**described, "status": "running"})
        for n in range(3):
            writer.journal.append(answered(f"s{n}", "?", "4"))
            writer.journal.append(judged(f"s{n}", float(n > 0), order=n))
        writer.journal.append(
            judged(
                "s3",
                None,
                "data_error",
                order=3,
                details={"error": "row 3: no question"},
            )
        )
        writer.journal.flush()
        server = viewer(tmp_path)
        window.open(server.link())
        window.wait("document.querySelector('.badge.live')")
        window.open(f"{server.address}/#/run/{run_id('going')}/live")
        window.wait("/4 of 8/.test(document.body.textContent)")
        writer.journal.append(answered("s4", "?", "4"))
        writer.journal.append(judged("s4", 1.0, order=4))
        writer.journal.flush()
        window.wait("/5 of 8/.test(document.body.textContent)")

    text = window.text("main")
    assert "1 data error" in text and "running" in text


def test_groups_and_flags_name_the_model_where_a_run_has_several(
    window: Browser, viewer, tmp_path: Path
):
    rows = []
    for model in ("old", "new"):
        groups = {
            size: result("sums", "wer", 0.3, 9, ci=[0.0, 900.0])
            for size in ("small", "large")
        }
        row = result("sums", "wer", 0.3, 9, groups={"size": groups}, flags=["few"])
        rows.append(row | {"model": model})
    write_run(tmp_path / "run", [answered("x", "?", "y")], rows)
    server = viewer(tmp_path)
    window.open(server.link())
    window.wait("document.querySelector('.run-name')")

    window.open(f"{server.address}/#/run/{run_id('run')}")
    window.wait("document.querySelector('table.groups')")

    text = window.text("main")
    assert "sums · old · wer by size" in text and "sums · new · wer by size" in text
    assert "sums · old wer: few" in text
    widths = window.js(
        "return [...document.querySelectorAll('table.groups rect.ci')]"
        ".map((bar) => Number(bar.getAttribute('width')))"
    )
    assert len(widths) == 4 and max(widths) <= 148


@pytest.mark.costly
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_on_any_page(
    window: Browser, viewer, tmp_path: Path, dark: bool
):
    sums(tmp_path / "first", right=30)
    groups = {
        "size": {
            "small": result("sums", "exact", 0.8, 20),
            "large": result("sums", "exact", 0.3, 20),
        }
    }
    second = sums(tmp_path / "second", right=20)
    summary = json.loads((second / "summary.json").read_text())
    summary["results"][0] |= {"groups": groups, "value": 19 / 40}
    shutil.rmtree(second)
    lines = []
    for n in range(40):
        lines += [
            answered(f"s{n:03}", f"What is {n}?", f"It is {n}", str(n)),
            judged(
                f"s{n:03}",
                float(n < 20),
                "scored" if n else "unparsed",
                tags={"size": "small" if n < 20 else "large"},
                answer=str(n),
                order=n,
            ),
        ]
    write_run(second, lines, summary["results"], notes=["one note"])
    server = viewer(tmp_path)
    window.dark(dark)
    window.open(server.link())
    window.wait("document.querySelectorAll('.run-name').length === 2")
    first, other = run_id("first"), run_id("second")
    found = {"runs": window.axe()}
    pages = {
        f"/#/run/{other}": ".grid.figures svg",
        f"/#/run/{first}/samples?id=s033": ".sample h1",
        f"/#/run/{other}/live": ".facts-row",
        f"/#/run/{other}/label": ".label-box h1",
        "/#/leaderboard": ".board",
        f"/#/compare/{first}/{other}": ".sentence",
    }
    for page, ready in pages.items():
        window.open(server.address + page)
        window.wait("document.querySelector(arguments[0])", ready)
        if "compare" in page:
            window.click(".flip > summary")
            window.wait("document.querySelector('.pairwise .card')")
        time.sleep(0.2)
        found[page] = window.axe()
    report = tmp_path / "report.html"
    report.write_text(
        html_report([tmp_path / "first", tmp_path / "second"], samples=4), "utf-8"
    )
    window.open(report.as_uri())
    window.wait("document.querySelectorAll('.tile').length === 8")
    window.click(".tile summary")
    window.wait("document.querySelector('.tile .sample h1')")
    found["report"] = window.axe()
    window.dark(False)

    assert {page: faults for page, faults in found.items() if faults} == {}


@pytest.mark.costly
def test_a_phone_shows_the_list_then_the_sample(
    window: Browser, viewer, two_runs: Path
):
    server = viewer(two_runs)
    window.size(390, 844)
    try:
        window.open(server.link())
        window.wait("document.querySelector('.run-name')")
        window.open(f"{server.address}/#/run/{run_id('first')}/samples")
        window.wait("document.querySelectorAll('.row').length > 3")
        assert window.js("return document.documentElement.scrollWidth") <= 390
        window.click(".row", 1)
        window.wait("document.querySelector('.sample h1')?.offsetParent")
        assert window.js("return document.querySelector('.list').offsetParent") is None
        window.click(".back")
        window.wait("document.querySelector('.list').offsetParent")
    finally:
        window.size(1280, 800)


@pytest.mark.costly
def test_a_bundle_on_any_file_host_lists_reads_searches_and_compares(
    window: Browser, two_runs: Path, tmp_path: Path
):
    target = tmp_path / "site"
    write_bundle(two_runs, target)

    with file_host(target) as address:
        window.open(f"{address}/")
        window.wait("document.querySelectorAll('.run-name').length === 2")
        window.open(f"{address}/#/run/{run_id('first')}/samples?q=17+%2B+17")
        window.wait("document.querySelectorAll('.row').length === 1")
        window.click(".row")
        window.wait("document.querySelector('.sample h1')?.textContent === 's017'")
        window.open(f"{address}/#/compare/{run_id('first')}/{run_id('second')}")
        assert "points" in window.wait(
            "document.querySelector('.sentence')?.textContent"
        )


@pytest.mark.costly
def test_a_report_is_one_file_that_works_from_disk(
    window: Browser, two_runs: Path, tmp_path: Path
):
    path = tmp_path / "report.html"
    path.write_text(
        html_report([two_runs / "first", two_runs / "second"], samples=6), "utf-8"
    )

    window.open(path.as_uri())
    window.wait("document.querySelectorAll('.tile').length === 12")
    window.click(".tile summary")
    window.wait("document.querySelector('.tile .sample h1')")
    window.count()

    text = window.text()
    assert "was evaluated on sums" in text and "points" in text and "0.750" in text
    assert (
        window.js("return document.querySelectorAll('.grid.figures svg').length") >= 4
    )
    assert (window.foreign, window.violations, window.ran) == ([], [], 0)
