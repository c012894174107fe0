"""Drawings: the numbers stand where they should, and the same function of the app draws the same."""

import json
import random
import re
import shutil
import subprocess
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay.report import charts
from assay.report.charts import Bar, Interval, Point

APP = Path(charts.__file__).parents[1] / "view" / "app"
SVG = "{http://www.w3.org/2000/svg}"
DRAW = random.Random(5)
MANY = [DRAW.gauss(3, 1) for _ in range(300)]
SECONDS = [DRAW.lognormvariate(0, 1) for _ in range(300)]
SURE = [DRAW.random() for _ in range(200)]
RIGHT = [float(DRAW.random() < sure) for sure in SURE]
POINTS = [
    Point("law", 0.2, 0.5, 10),
    Point("maths", 0.9, 0.4, 40),
    Point("a long task topic=history of art", 0.3, 0.5, 4),
]
CASES = {
    "intervalDot({value: 0.4, ci: [0.3, 0.55]}, [0, 1])": charts.interval_dot(
        0.4, (0.3, 0.55), (0, 1)
    ),
    "intervalDot({value: null, ci: null}, [0, 1], 90)": charts.interval_dot(
        None, None, (0, 1), 90
    ),
    "outcomeStrip({unparsed: 2, scored: 95, model_error: 3})": charts.outcome_strip(
        {"unparsed": 2, "scored": 95, "model_error": 3}
    ),
    f"histogram({json.dumps(MANY)}, {{label: 'x'}})": charts.histogram(MANY, "x"),
    f"histogram({json.dumps(SECONDS)}, {{label: 's', log: true, unit: ' s'}})": charts.histogram(
        SECONDS, "s", log=True, unit=" s"
    ),
    "histogram([1.2001, 1.2002, 1.2003, 1.2101], {label: 'near'})": charts.histogram(
        [1.2001, 1.2002, 1.2003, 1.2101], "near"
    ),
    "histogram([0, 1, 1, null, 0.5], {label: 'few'})": charts.histogram(
        [0, 1, 1, None, 0.5], "few"
    ),
    "bars([{name: 'a', n: 3}, {name: 'b', n: 12000}], {label: 'bars'})": charts.bars(
        [Bar("a", 3), Bar("b", 12000)], "bars"
    ),
    f"calibration({json.dumps(SURE)}, {json.dumps(RIGHT)})": charts.calibration(
        SURE, RIGHT
    ),
    f"scatter({json.dumps([point._asdict() for point in POINTS])})": charts.scatter(
        POINTS
    ),
    "differenceDot({difference: -0.1, ci: [-0.3, 0.1], verdict: 'worse'}, 0.4)": charts.difference_dot(
        -0.1, (-0.3, 0.1), "worse", 0.4
    ),
}
STUB = """
class Node { constructor(tag) { this.tag = tag; this.attributes = {}; this.children = []; }
  setAttribute(name, value) { this.attributes[name] = value; }
  append(child) { this.children.push(child); } replaceChildren() { this.children = []; } addEventListener() {} }
globalThis.Node = Node;
globalThis.document = { createElement: (t) => new Node(t), createElementNS: (_, t) => new Node(t) };
const charts = await import(process.argv[1]);
const plain = (n) => n instanceof Node ? [n.tag, n.attributes, n.children.map(plain)] : n;
const cases = JSON.parse(await new Response(process.stdin).text());
const found = {};
for (const one of cases) found[one] = plain(new Function("c", `with (c) { return ${one}; }`)(charts));
console.log(JSON.stringify(found));
"""
PAINT = (
    "class",
    "fill",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "opacity",
    "font-size",
    "font-family",
    "font-weight",
)


def shape(tag, attributes, children):
    """An element without its colours."""
    return (
        tag,
        {
            name: value
            for name, value in sorted(attributes.items())
            if name not in (*PAINT, "xmlns")
        },
        children,
    )


def apart(tree):
    """A drawing as text without its numbers, and these."""
    text = json.dumps(tree)
    number = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
    return re.sub(number, "#", text), [
        float(found) for found in re.findall(number, text)
    ]


def of_python(element):
    text = [element.text] if element.text else []
    return shape(
        element.tag.removeprefix(SVG), element.attrib, [*text, *map(of_python, element)]
    )


def of_script(node):
    return (
        node
        if isinstance(node, str)
        else shape(node[0], node[1], [of_script(child) for child in node[2]])
    )


@pytest.fixture(scope="module")
def drawn_by_the_app():
    if shutil.which("node") is None:
        pytest.skip("no node here: the two are compared where there is one")
    command = ["node", "--input-type=module", "-e", STUB, str(APP / "charts.js")]
    done = subprocess.run(
        command,
        input=json.dumps(list(CASES)),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.partition("(")[0])
def test_the_app_draws_the_same(drawn_by_the_app, case):
    ours, theirs = (
        apart(of_python(ElementTree.fromstring(CASES[case]))),
        apart(of_script(drawn_by_the_app[case])),
    )

    assert ours[0] == theirs[0]
    assert ours[1] == pytest.approx(
        theirs[1], abs=0.006
    )  # ours are written with two digits


def test_every_look_of_a_drawing_has_the_colours_of_the_app():
    from assay.report import svg

    style = (APP / "style.css").read_text("utf-8").partition("}")[0]
    for name in (
        "INK",
        "MUTED",
        "LINE",
        "BED",
        "CARD",
        "GOOD",
        "BAD",
        "MID",
        "PURPLE",
        "DOT",
        "CI",
    ):
        assert f"--{name.lower()}: {getattr(svg, name)};" in style


def test_rows_of_intervals_share_one_scale():
    svg = charts.interval_rows(
        [Interval("a", 0.25, (0.1, 0.4)), Interval("b", None, None)], "two"
    )

    circles = list(ElementTree.fromstring(svg).iter(f"{SVG}circle"))
    assert [float(circle.attrib["cx"]) for circle in circles] == pytest.approx(
        [6 + 0.25 * (210 - 12)]
    )


def test_nothing_to_draw_is_not_a_drawing():
    assert charts.histogram([None, float("nan")], "x") is None
    assert charts.calibration([0.5] * 9, [1.0] * 9) is None
    assert charts.scatter([Point("a", 0, 1, 2)]) is None


def test_numbers_beyond_all_bounds_are_drawn_without_fail():
    for values in ([1e300, -1e300], [5.0], [0.0, 1e-300], [float("inf"), 1.0, 2.0]):
        assert charts.histogram(values, "x") is not None
        ElementTree.fromstring(
            charts.interval_rows([Interval("a", value, None) for value in values], "x")
        )


def test_names_of_dots_cover_no_other_name_and_stay_inside_the_frame():
    crowded = [Point(f"level={n}", 0.3 + 0.02 * n, 0.0, 5) for n in range(8)]
    crowded += [Point(f"subject={n}", 0.9, 0.5 + 0.001 * n, 5) for n in range(3)]

    for points in (POINTS, crowded):
        texts = list(ElementTree.fromstring(charts.scatter(points)).iter(f"{SVG}text"))
        names = [text for text in texts if text.text in {p.name for p in points}]
        boxes = []
        for text in names:
            x, y = float(text.attrib["x"]), float(text.attrib["y"])
            width = 6.5 * len(text.text)
            left = x - width if text.attrib["text-anchor"] == "end" else x
            boxes.append((left, left + width, y - 10, y + 2))
        assert names
        for left, right, _, _ in boxes:
            assert left >= 40 and right <= 448
        for one, other in combinations(boxes, 2):
            is_beside = one[0] >= other[1] or other[0] >= one[1]
            assert is_beside or one[2] >= other[3] or other[2] >= one[3]


def test_a_long_name_of_a_dot_loses_its_beginning():
    texts = ElementTree.fromstring(charts.scatter(POINTS)).iter(f"{SVG}text")

    assert {"law", "maths", "…sk topic=history of art"} <= {t.text for t in texts}


def test_a_group_with_more_errors_is_drawn_as_worse():
    points = [Point("a", 0.1, 0.4, 5), Point("b", 0.5, 0.2, 5)]

    colours = []
    for higher_is_better in (True, False):
        svg = charts.scatter(points, higher_is_better=higher_is_better)
        dots = ElementTree.fromstring(svg).iter(f"{SVG}circle")
        colours.append([dot.attrib["fill"] for dot in dots])

    assert colours[0] == list(reversed(colours[1]))
    assert colours[0][0] != colours[0][1]


def test_few_values_that_are_written_alike_are_ranges_not_bars():
    drawn = str(charts.histogram([1.20001, 1.20002, 1.20003, 1.21], "seconds"))

    assert "<title>" in drawn and " to " in drawn
