"""Labels on the page and in the terminal: blind, in an order that a seed makes, and what follows from them."""

import json
from pathlib import Path

import pytest
from browser import Browser, needs_browser
from made_runs import sums
from starlette.testclient import TestClient

import assay
from assay.cli.main import main
from assay.core import UsageError
from assay.store import RunReader
from assay.view.labelling import (
    add_label,
    blind_sample,
    choices_of,
    label_page,
    two_digits,
)
from assay.view.run_view import RunView
from assay.view.view_server import make_app


def view(folder: Path) -> RunView:
    return RunView(folder, "r", folder.name)


def test_the_order_is_drawn_by_the_seed(tmp_path: Path):
    run = view(sums(tmp_path / "run"))

    first, again, other = (label_page(run, 0, seed)["order"] for seed in (1, 1, 2))

    assert first == again != other
    assert sorted(first) == list(range(40)) != first


def test_a_sample_to_be_labelled_names_neither_model_nor_verdict(tmp_path: Path):
    text = json.dumps(blind_sample(view(sums(tmp_path / "run")), 3))

    assert '"It is 6."' in text
    assert (
        "exact" not in text
        and "last number" not in text
        and '"model": "model"' not in text
    )


def test_labels_give_agreement_and_a_corrected_value(tmp_path: Path):
    run = view(sums(tmp_path / "run", count=200, right=150))
    for row in label_page(run, 0, 1)["order"][:60]:
        add_label(run, row, float(row < 120), "ann")

    found = label_page(run, 0, 1)["summary"]

    assert found["labelled"] == 60 and found["judge_value"] == 0.75
    assert 0.5 < found["kappa"] < 1 and found["agree"] > 0.7
    assert (
        found["corrected"]["value"] < 0.72
        and found["corrected"]["ci"][0] < 0.6 < found["corrected"]["ci"][1]
    )


def test_several_people_have_an_agreement_of_their_own(tmp_path: Path):
    run = view(sums(tmp_path / "run"))
    for row in range(10):
        add_label(run, row, float(row % 2), "ann")
        add_label(run, row, float(row % 2 if row else 1), "bob")

    assert 0.7 < label_page(run, 0, 1)["summary"]["alpha"] < 1


def test_labelling_leaves_the_run_as_it_was(tmp_path: Path):
    folder = sums(tmp_path / "run")
    before = (folder / "records.jsonl").read_bytes()

    add_label(view(folder), 0, 1.0, "ann")

    assert (folder / "records.jsonl").read_bytes() == before
    assert RunReader(folder).damage == ()


@pytest.mark.parametrize(
    ("scale", "keys"),
    [
        (None, "10"),
        ([0.0, 1.0], "10"),
        ([1.0, 5.0], "12345"),
        ([0.0, 10.0], "0123456789x"),
        ([0.0, 100.0], "10"),
        ([1.0, 10.0], "1234567890"),
    ],
)
def test_each_verdict_has_one_key(scale, keys: str):
    assert "".join(choice["key"] for choice in choices_of(scale)) == keys


def test_a_label_is_taken_only_with_cookie_and_header(tmp_path: Path):
    folder = sums(tmp_path / "run")
    app = make_app(folder)
    client = TestClient(app, base_url="http://127.0.0.1:7557")
    body = {"run": "x", "row": 0, "value": 1.0, "by": "ann"}
    assert (
        client.post("/api/label", json=body, headers={"X-Assay": "1"}).status_code
        == 401
    )
    client.post("/api/session", content=app.new_token(), headers={"X-Assay": "1"})
    body["run"] = client.get("/api/runs").json()["runs"][0]["id"]

    codes = [
        client.post("/api/label", json=body).status_code,
        client.post(
            "/api/label",
            json=body,
            headers={"X-Assay": "1", "Origin": "http://attacker.invalid"},
        ).status_code,
        client.post(
            "/api/label", json={**body, "row": 999}, headers={"X-Assay": "1"}
        ).status_code,
        client.post("/api/label", content=b"{", headers={"X-Assay": "1"}).status_code,
        client.get("/api/label").status_code,
        client.post("/api/label", json=body, headers={"X-Assay": "1"}).status_code,
    ]

    assert codes == [403, 403, 400, 400, 405, 200]
    assert len((folder / "labels.jsonl").read_bytes().splitlines()) == 1


def test_labels_go_out_and_in_as_csv(tmp_path: Path, capsys):
    first, second = sums(tmp_path / "a"), sums(tmp_path / "b")
    for row in range(4):
        add_label(view(first), row, float(row < 2), "=ann")

    codes = [
        main(["label", str(first), "--export", str(tmp_path / "l.csv")]),
        main(["label", str(second), "--import", str(tmp_path / "l.csv")]),
    ]
    capsys.readouterr()
    main(["label", str(second)])

    assert codes == [0, 0]
    assert "'=ann" in (tmp_path / "l.csv").read_text()
    assert "4 samples labelled; agreement with exact 50%" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,value\nnobody,1\n", "no sample of the run is 'nobody'"),
        ("id,value\ns001,good\n", "is not a number"),
        ("a,b\n1,2\n", "no columns `id` and `value`"),
        ("", "no columns"),
    ],
)
def test_a_file_with_a_wrong_row_adds_nothing(
    tmp_path: Path, capsys, text: str, said: str
):
    folder = sums(tmp_path / "run")
    (tmp_path / "l.csv").write_text(text)

    code = main(["label", str(folder), "--import", str(tmp_path / "l.csv")])

    assert code == 2 and said in capsys.readouterr().err
    assert not (folder / "labels.jsonl").exists()


def rated(folder: Path, values: list[int]) -> Path:
    """Make a run whose only metric is a rating from 1 to 5."""
    rows = [
        {"id": f"s{n:03}", "question": "?", "answer": str(v)}
        for n, v in enumerate(values)
    ]

    class Rating:
        bounds = (1.0, 5.0)

        def __call__(self, sample, output):
            return float(sample.target)

    task = assay.Task("stars", rows, scorers=[Rating()])
    assay.run(task, model=lambda text: "fine", output=str(folder))
    return folder


@pytest.mark.parametrize("value", ["9", "0", "-50", "1000", "5.01", "nan", "inf"])
def test_import_refuses_a_label_outside_of_the_scale_and_names_the_line(
    tmp_path: Path, capsys, value: str
):
    folder = rated(tmp_path / "run", [3, 4, 5, 1])
    (tmp_path / "l.csv").write_text(f"id,value\ns000,3\ns001,{value}\n")

    code = main(["label", str(folder), "--import", str(tmp_path / "l.csv")])

    said = capsys.readouterr().err
    assert code == 2 and "l.csv:3" in said
    assert "1 to 5" in said or "not a finite number" in said
    assert not (folder / "labels.jsonl").exists()


def test_import_refuses_a_decimal_comma_that_makes_another_cell(tmp_path: Path, capsys):
    folder = rated(tmp_path / "run", [3, 4, 5, 1])
    (tmp_path / "l.csv").write_text("id,value,by\ns000,3,ann\ns001,3,5,ann\n")

    code = main(["label", str(folder), "--import", str(tmp_path / "l.csv")])

    assert code == 2
    assert "l.csv:3: more cells than columns" in capsys.readouterr().err
    assert not (folder / "labels.jsonl").exists()


def test_import_of_a_right_or_wrong_metric_takes_only_0_to_1(tmp_path: Path, capsys):
    folder = sums(tmp_path / "run")
    (tmp_path / "l.csv").write_text("id,value\ns001,2\ns002,1\n")

    code = main(["label", str(folder), "--import", str(tmp_path / "l.csv")])

    said = capsys.readouterr().err
    assert code == 2 and "label 2 is not on the scale of exact: 0 to 1" in said


def test_every_wrong_line_of_a_file_is_named_at_once(tmp_path: Path, capsys):
    folder = rated(tmp_path / "run", [3, 4, 5, 1])
    (tmp_path / "l.csv").write_text("id,value\ns000,7\ns001,3\nzz,3\n")

    main(["label", str(folder), "--import", str(tmp_path / "l.csv")])

    said = capsys.readouterr().err
    assert "l.csv:2" in said and "l.csv:4" in said and "l.csv:3" not in said


def test_the_server_refuses_a_label_outside_of_the_scale_or_without_a_name(
    tmp_path: Path,
):
    run = view(rated(tmp_path / "run", [3, 4, 5, 1]))

    for value, by in ((9.0, "ann"), (0.0, "ann"), (3.0, " ")):
        with pytest.raises(UsageError):
            add_label(run, 0, value, by)
    add_label(run, 0, None, "ann")
    add_label(run, 0, 3.0, "ann")

    assert label_page(run, 0, 1)["summary"]["labelled"] == 1


def test_agreement_on_ratings_is_named_and_ordinal(tmp_path: Path, capsys):
    folder = rated(tmp_path / "run", [1, 2, 3, 4, 5, 5, 1, 2])
    run = view(folder)
    for row in range(8):
        add_label(run, row, float(min(5, 1 + row // 2)), "ann")
        add_label(run, row, float(min(5, 2 + row // 2)), "bob")

    main(["label", str(folder)])

    said = capsys.readouterr().out
    assert "quadratic-weighted kappa" in said and "Cohen" not in said
    assert "Krippendorff's alpha (ordinal)" in said


def test_agreement_on_right_or_wrong_is_cohens_kappa_and_never_minus_zero(
    tmp_path: Path, capsys
):
    folder = sums(tmp_path / "run", count=40, right=20)
    (tmp_path / "l.csv").write_text("id,value\ns001,1\n")

    main(["label", str(folder), "--import", str(tmp_path / "l.csv")])
    added = capsys.readouterr().out
    main(["label", str(folder)])
    said = capsys.readouterr().out

    assert "1 label added; 1 without a name are kept as by 'imported'" in added
    assert "1 sample labelled;" in said and "Cohen's kappa" in said
    assert two_digits(-0.004) == "0.00"


@pytest.mark.costly
@needs_browser
@pytest.mark.xdist_group("browser")
def test_one_key_labels_and_the_next_sample_comes(
    window: Browser, viewer, tmp_path: Path
):
    folder = sums(tmp_path / "run")
    server = viewer(folder)
    window.open(server.link())
    run = window.wait("document.querySelector('.run-name')?.hash")
    window.open(f"{server.address}/{run}/label?seed=5")
    first = window.wait("document.querySelector('.label-box h1')?.textContent")

    window.js(
        "document.activeElement.blur();"
        "document.dispatchEvent(new KeyboardEvent('keydown', { key: '1', bubbles: true }))"
    )
    window.wait(
        "document.querySelector('.label-box h1')?.textContent !== arguments[0]", first
    )
    window.wait("/labelled samples1/.test(document.querySelector('aside').textContent)")

    assert "exact" not in window.text(".label-box")
    line = json.loads((folder / "labels.jsonl").read_text())
    assert (line["id"], line["value"], line["by"]) == (first, 1.0, "me")
    assert window.axe() == []
