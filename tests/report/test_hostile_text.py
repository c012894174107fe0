"""Whatever stands in an id, a prompt, an answer, a judge's reason, a metric or a name: it is shown and does nothing."""

import csv
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from each_row import each

from assay.cli.main import main
from assay.core import Message, Output, Prompt, Result, Text
from assay.core.record import output_to_plain, prompt_to_plain
from assay.report import html_table, markdown_table, plain_table
from assay.report.charts import (
    Bar,
    Interval,
    Point,
    bars,
    interval_rows,
    outcome_strip,
    scatter,
)
from assay.store import OutputLine, RunReader, RunWriter, ScoreLine
from assay.store.export import COLUMNS, NUMBER_COLUMNS, plain_cell, write_csv

PAYLOADS = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '{"a": "</script><script>alert(1)</script>"}',
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<iframe src=javascript:alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "![beacon](https://example.org/beacon.png)",
    "[beacon]: https://example.org/beacon",
    "<https://example.org/beacon>",
    "data:text/html,<script>alert(1)</script>",
    "<style>body{background:url(https://example.org/x)}</style>",
    "<link rel=stylesheet href=https://example.org/x>",
    "<meta http-equiv=refresh content='0;url=https://example.org'>",
    "<base href=https://example.org/>",
    "<form action=https://example.org><input type=submit>",
    "<td onmouseover=alert(1)>x</td></tr></table><b>out</b>",
    "--><script>alert(1)</script><!--",
    "]]><script>alert(1)</script>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "\"'><script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    r"\href{javascript:alert(1)}{x}",
    r"$\require{html}\style{x}{y}$",
    "{{7*7}}",
    "${7*7}",
    "{% include '/etc/passwd' %}",
    "line\u2028separator\u2029paragraph",
    "\u202egnp.exe\u202c",
    "\u2066isolated\u2069",
    "\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b[2J\x1b[1;1Hgone",
    "\x9b31mred",
    "back\x08\x08space\x7f",
    "first\r\nsecond | third\nfourth",
    "[bold red]markup[/bold red]",
    '=HYPERLINK("https://example.org")',
    "+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "\t=1+1",
    "\r=1+1",
    "'=1+1",
    "a\"b'c`d.png",
    "../../etc/passwd",
    "| cell | cell |",
]
TAGS = {"table", "thead", "tbody", "tr", "th", "td"}
DRAWN = {"svg", "line", "rect", "circle", "text", "title"}
LOOKS = {
    "xmlns", "viewbox", "role", "aria-label", "width", "height", "x", "y", "x1", "x2", "y1", "y2", "rx", "cx", "cy",
    "r", "fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family", "font-weight",
    "text-anchor",
}  # fmt: skip
"""The attributes of a drawing: none of them runs or loads anything."""


def result(payload: str) -> Result:
    return Result(
        payload,
        payload,
        payload,
        0.5,
        1,
        n_expected=2,
        outcomes={"scored": 1, payload: 1},
        flags=(payload,),
    )


@pytest.fixture(params=PAYLOADS, ids=range(len(PAYLOADS)))
def payload(request):
    return request.param


@pytest.fixture
def run(payload, tmp_path):
    """A run in which the payload stands in every field; nobody's own, so its manifest says it too."""
    prompt = prompt_to_plain(Prompt((Message("user", (Text(payload),)),)))
    verdict = {
        "answer": payload,
        "details": {"reason": payload, "error": payload},
        "tags": {payload: payload},
    }
    with RunWriter(tmp_path / "run") as writer:
        answer, failure = (
            output_to_plain(Output.of(payload)),
            output_to_plain(Output.failed("http", payload)),
        )
        writer.write(
            OutputLine(
                payload,
                payload,
                payload,
                "key",
                prompt=prompt,
                output=answer,
                target=payload,
            )
        )
        writer.write(
            OutputLine(
                payload, payload, f"{payload}2", "key2", prompt=prompt, output=failure
            )
        )
        writer.write(
            ScoreLine(
                payload,
                payload,
                payload,
                payload,
                "d",
                {payload: 1.0},
                payload,
                **verdict,
            )
        )
        numbers = {
            "status": payload,
            "results": [result(payload).to_plain()],
            "notes": [payload],
        }
        writer.finish({"status": payload, "cells": []}, numbers)
    return tmp_path / "run"


def steers(text: str) -> list[str]:
    """The characters of a text that a terminal would obey."""
    directions = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}
    return [c for c in text if c != "\n" and (not c.isprintable() or c in directions)]


def test_there_are_as_many_payloads_as_the_reliability_plan_asks_for():
    assert len(set(PAYLOADS)) >= 40


@each("more", [[], ["--failures"], ["--limit", "100"]])
def test_a_terminal_is_not_steered(run, payload, capsys, more):
    code = main(["show", str(run), *more])

    said = "".join(capsys.readouterr())
    assert code == 0 and steers(said) == []
    assert "".join(c for c in payload if c.isalnum())[:12] in "".join(
        c for c in said if c.isalnum()
    )


@each("payload", PAYLOADS)
def test_a_table_of_text_is_not_markup(payload):
    assert steers(plain_table([result(payload)])) == []


class Page(HTMLParser):
    """The tags and the texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, list]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, attrs))

    def handle_data(self, data):
        self.texts.append(data)

    def handle_comment(self, data):
        self.tags.append(("comment", [data]))

    handle_decl = handle_pi = unknown_decl = handle_comment


@each("payload", PAYLOADS)
def test_a_page_holds_the_text_and_no_tag_of_it(payload):
    page = Page(html_table([result(payload)]))

    assert {tag for tag, _ in page.tags} == TAGS | DRAWN
    assert not any(attributes for tag, attributes in page.tags if tag in TAGS)
    assert {
        name for tag, attributes in page.tags if tag in DRAWN for name, _ in attributes
    } <= LOOKS
    assert page.texts.count(payload) == 3


@each("payload", PAYLOADS)
def test_a_drawing_holds_the_text_and_no_tag_of_it(payload):
    drawn = [
        bars([Bar(payload, 3)], payload),
        outcome_strip({payload: 3}),
        interval_rows([Interval(payload, 0.5, None)], payload),
        scatter([Point(payload, 0.1, 0.2, 3), Point(payload, 0.3, 0.2, 3)]),
    ]

    for drawing in drawn:
        page = Page(drawing)
        ElementTree.fromstring(drawing.encode("utf-8", "replace"))
        assert {tag for tag, _ in page.tags} <= DRAWN | {"text", "g"}
        assert {
            name for _, attributes in page.tags for name, _ in attributes
        } <= LOOKS | {"text-anchor", "transform"}


@each("payload", PAYLOADS)
def test_a_table_in_markdown_stays_one_row_without_links_or_tags(payload):
    table = markdown_table([result(payload)])

    lines = table.split("\n")
    assert len(lines) == 3 and len(table.splitlines()) == 3
    assert lines[2].replace("\\|", "").count("|") == 9
    bare = (
        lines[2]
        .replace("\\\\", "")
        .replace("\\<", "")
        .replace("\\[", "")
        .replace("\\!", "")
    )
    assert "<" not in bare and "[" not in bare


def test_a_spreadsheet_gets_text_that_can_be_read_back(run, payload, tmp_path):
    csv.field_size_limit(sys.maxsize)

    write_csv(RunReader(run), tmp_path / "x.csv")

    with open(tmp_path / "x.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 and set(rows[0]) == set(COLUMNS)
    for row in rows:
        assert not any(
            row[name].startswith(("=", "+", "-", "@", "\t", "\r"))
            for name in COLUMNS
            if name not in NUMBER_COLUMNS
        )
    assert (
        plain_cell(rows[0]["prompt"])
        == plain_cell(rows[0]["answer"])
        == plain_cell(rows[0]["id"])
        == payload
    )
