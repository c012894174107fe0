"""What the viewer's addresses answer, and what they refuse."""

import hashlib
import json
import socket
from pathlib import Path

import pytest
from made_runs import (
    answered,
    judged,
    manifest,
    png,
    result,
    sums,
    wav,
    write_run,
)
from starlette.testclient import TestClient

from assay.core import Audio, Image, UsageError
from assay.view.view_server import bind, make_app


def entered(root: Path) -> TestClient:
    app = make_app(root)
    found = TestClient(
        app, base_url="http://127.0.0.1:7557", raise_server_exceptions=False
    )
    found.post("/api/session", content=app.new_token(), headers={"X-Assay": "1"})
    return found


def only_run(client: TestClient) -> str:
    return client.get("/api/runs").json()["runs"][0]["id"]


def test_columns_come_in_the_order_of_the_data_with_metric_and_scale(tmp_path: Path):
    client = entered(sums(tmp_path / "run", count=5, right=3))

    columns = client.get(f"/api/columns?run={only_run(client)}").json()

    assert columns["id"] == ["s000", "s001", "s002", "s003", "s004"]
    assert columns["metrics"]["exact"] == [1, 1, 1, 0, 0]
    assert (
        columns["cells"][0] | {"metric": "exact", "scale": [0.0, 1.0]}
        == columns["cells"][0]
    )


def test_only_samples_that_the_last_table_counted_are_listed(tmp_path: Path):
    folder = tmp_path / "run"
    lines = [
        line
        for n in range(4)
        for line in (answered(f"s{n}", "?", "x"), judged(f"s{n}", 1.0, order=n))
    ]
    write_run(folder, lines)
    summary = json.loads((folder / "summary.json").read_text())
    summary["counted"] = [
        {"task": "sums", "model": "model", "ids": ["s1", "s3"], "epochs": 1}
    ]
    (folder / "summary.json").write_text(json.dumps(summary))
    described = json.loads((folder / "run.json").read_text())
    described["summary"]["sha256"] = hashlib.sha256(
        (folder / "summary.json").read_bytes()
    ).hexdigest()
    (folder / "run.json").write_text(json.dumps(described))
    client = entered(folder)

    columns = client.get(f"/api/columns?run={only_run(client)}").json()

    assert (columns["id"], columns["row"], columns["left_out"]) == (
        ["s1", "s3"],
        [1, 3],
        2,
    )


@pytest.mark.parametrize(
    "path",
    [
        "/api/sample?run={run}&row=99",
        "/api/sample?run={run}&row=-1",
        "/api/sample?run={run}&row=x",
        "/api/sample?run={run}",
        "/api/run?run=../..",
        "/api/columns?run=nothing",
        "/api/compare?before={run}&after={run}",
        "/api/rows?run={run}",
        "/media/{run}/0/" + "a" * 64 + "/full",
        "/media/{run}/99/x/full",
        "/app/..%2fserver.py",
        "/app/server.py",
    ],
)
def test_what_is_not_there_is_a_sentence_and_never_a_traceback(
    tmp_path: Path, path: str
):
    client = entered(sums(tmp_path / "run", count=2))

    answer = client.get(path.format(run=only_run(client)))

    assert answer.status_code in (400, 404)
    assert "Traceback" not in answer.text and str(tmp_path) not in answer.text


def medium_run(folder: Path, name: str, data: bytes, kind: str = "image") -> str:
    """A run whose one sample shows a file of the data; returns the digest."""
    path = folder.parent / name
    path.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    part = {"type": kind, "sha256": digest, "format": "png", "path": str(path)}
    write_run(folder, [answered("a", [{"role": "user", "content": [part]}], "x")])
    return digest


@pytest.mark.parametrize(("data", "type"), [(png(), "image/png"), (wav(), "audio/wav")])
def test_a_medium_is_served_by_what_its_bytes_say(
    tmp_path: Path, data: bytes, type: str
):
    digest = medium_run(tmp_path / "run", "file.html", data)
    client = entered(tmp_path / "run")

    answer = client.get(f"/media/{only_run(client)}/0/{digest}/full")

    assert (answer.status_code, answer.headers["content-type"], answer.content) == (
        200,
        type,
        data,
    )
    assert answer.headers["content-security-policy"].startswith("sandbox")


def test_a_part_of_a_medium_is_served_for_players(tmp_path: Path):
    digest = medium_run(tmp_path / "run", "a.wav", wav(), "audio")
    client = entered(tmp_path / "run")

    answer = client.get(
        f"/media/{only_run(client)}/0/{digest}/full", headers={"Range": "bytes=4-11"}
    )

    assert (answer.status_code, answer.content) == (206, wav()[4:12])


@pytest.mark.parametrize(
    "data",
    [
        b"<svg onload=alert(1)>",
        b"<html><script>alert(1)</script>",
        b"%PDF-1.4",
        b"",
        b"MZ\x90",
    ],
)
def test_svg_html_and_other_files_are_never_served(tmp_path: Path, data: bytes):
    digest = medium_run(tmp_path / "run", "a.png", data)
    client = entered(tmp_path / "run")

    answer = client.get(f"/media/{only_run(client)}/0/{digest}/full")

    assert answer.status_code == 404
    assert "not an image, audio or video" in answer.json()["error"]


def test_a_file_whose_bytes_have_changed_is_not_served(tmp_path: Path):
    digest = medium_run(tmp_path / "run", "a.png", png())
    (tmp_path / "a.png").write_bytes(png((0, 0, 0)))
    client = entered(tmp_path / "run")

    assert client.get(f"/media/{only_run(client)}/0/{digest}/full").status_code == 404


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/dev/zero", "/proc/self/environ", "relative.png"]
)
def test_a_file_that_a_journal_names_without_knowing_its_digest_is_not_served(
    tmp_path: Path, path: str
):
    part = {"type": "image", "sha256": "0" * 64, "format": "png", "path": path}
    write_run(
        tmp_path / "run", [answered("a", [{"role": "user", "content": [part]}], "x")]
    )
    client = entered(tmp_path / "run")

    answer = client.get(f"/media/{only_run(client)}/0/{'0' * 64}/full")

    assert answer.status_code == 404


def test_a_medium_of_one_sample_is_not_served_for_another(tmp_path: Path):
    picture = Image(png())
    lines = [
        answered(
            "a",
            [
                {
                    "role": "user",
                    "content": [{"type": "image", "sha256": picture.digest}],
                }
            ],
            "x",
        ),
        answered("b", "?", "y"),
    ]
    write_run(tmp_path / "run", lines, media=[picture])
    client = entered(tmp_path / "run")
    run = only_run(client)

    codes = [
        client.get(f"/media/{run}/{row}/{picture.digest}/full").status_code
        for row in (0, 1)
    ]

    assert codes == [200, 404]


def test_thumbnails_are_small_webp_and_waveforms_are_bytes(tmp_path: Path):
    picture, tone = Image(png(side=900)), Audio(wav())
    content = [
        {"type": "image", "sha256": picture.digest},
        {"type": "audio", "sha256": tone.digest},
    ]
    write_run(
        tmp_path / "run",
        [answered("a", [{"role": "user", "content": content}], "x")],
        media=[picture, tone],
    )
    client = entered(tmp_path / "run")
    run = only_run(client)

    small = client.get(f"/media/{run}/0/{picture.digest}/small")
    wave = client.get(f"/media/{run}/0/{tone.digest}/wave")

    assert small.headers["content-type"] == "image/webp" and len(small.content) < 4000
    assert len(wave.content) == 600 and wave.content[-1] > wave.content[0]


def test_a_broken_image_has_no_thumbnail_and_says_why(tmp_path: Path):
    digest = medium_run(tmp_path / "run", "a.png", png()[:60])
    client = entered(tmp_path / "run")

    answer = client.get(f"/media/{only_run(client)}/0/{digest}/small")

    assert answer.status_code == 404 and "cannot be decoded" in answer.json()["error"]


def test_the_raw_record_is_text_to_save_and_has_no_page_in_it(tmp_path: Path):
    client = entered(sums(tmp_path / "run", count=2))

    answer = client.get(f"/api/raw?run={only_run(client)}&row=0")

    assert (
        answer.headers["content-type"].startswith("text/plain")
        and "attachment" in answer.headers["content-disposition"]
    )
    assert '"id": "s000"' in answer.text


def test_paths_of_this_machine_stay_out_of_samples(tmp_path: Path):
    medium_run(tmp_path / "run", "a.png", png())
    client = entered(tmp_path / "run")

    assert (
        str(tmp_path)
        not in client.get(f"/api/sample?run={only_run(client)}&row=0").text
    )


def test_a_run_of_several_cells_has_each_its_own_metric(tmp_path: Path):
    lines = [
        answered("a", "?", "x"),
        judged("a", 1.0),
        answered("a", "?", "y", task="other"),
        judged("a", 3.0, task="other", scorer="rate"),
    ]
    write_run(
        tmp_path / "run",
        lines,
        described=manifest("sums", "other", scorers=("exact", "rate")),
    )
    client = entered(tmp_path / "run")

    columns = client.get(f"/api/columns?run={only_run(client)}").json()

    assert columns["metrics"] == {"exact": [1.0, None], "rate": [None, 3.0]}


def test_a_port_in_use_is_one_line_and_without_one_a_free_port_is_taken():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(UsageError, match=f"port {port} cannot be used"):
            bind(port)
    with bind(None) as first, bind(None) as second:
        first.listen()
        assert first.getsockname()[0] == "127.0.0.1" and second.getsockname()[1] > 0


@pytest.mark.parametrize("port", [-1, 70000])
def test_a_number_that_is_not_a_port_is_reported(port: int):
    with pytest.raises(UsageError, match="is not a port"):
        bind(port)


def test_the_leaderboard_is_that_of_the_command(tmp_path: Path):
    from assay.comparison.leaderboard import make_leaderboard

    sums(tmp_path / "a", right=30)
    sums(tmp_path / "b", right=20)
    client = entered(tmp_path)

    page = client.get("/api/leaderboard").json()

    plain = make_leaderboard([tmp_path / "a", tmp_path / "b"]).to_plain()
    assert page["columns"] == plain["columns"] and page["notes"] == plain["notes"]
    ours, theirs = page["models"][0]["cells"][0], plain["models"][0]["cells"][0]
    assert {**ours, "run": ""} == {**theirs, "run": ""}
    assert ours["run"] in {run["id"] for run in client.get("/api/runs").json()["runs"]}


def test_an_expression_chooses_rows_and_a_fault_in_it_is_a_sentence(tmp_path: Path):
    client = entered(sums(tmp_path / "run", count=6, right=3))
    address = f"/api/where?run={only_run(client)}&expression="

    assert client.get(address + "score < 0.5 and id != s004").json()["rows"] == [3, 5]
    wrong = client.get(address + "scoer < 1")
    assert wrong.status_code == 400 and "'scoer'" in wrong.json()["error"]


def test_a_metric_has_one_scale_in_the_list_and_on_each_page(tmp_path: Path):
    scale = {"details": {"scale": [1, 5]}}
    for name, value in (("a", 2.9), ("b", 1.0)):
        judge = result("sums", "judge", value, 9, ci=[value, value + 0.3], **scale)
        rate = result("sums", "rate", 10 * value, 9, ci=None)
        write_run(tmp_path / name, [answered("x", "?", "y")], [judge, rate])
    client = entered(tmp_path)

    listed = client.get("/api/runs").json()

    assert listed["domains"]["judge"] == [1, 5]
    assert listed["domains"]["rate"][1] > 29
    for run in listed["runs"]:
        page = client.get(f"/api/run?run={run['id']}").json()
        assert page["domains"] == listed["domains"]


def test_the_long_interval_of_a_small_group_does_not_stretch_the_axis(tmp_path: Path):
    group = result("sums", "wer", 1.2, 3, ci=[0.0, 24_060.0])
    row = result("sums", "wer", 0.3, 9, groups={"voice": {"slt": group}})
    write_run(tmp_path / "a", [answered("x", "?", "y")], [row])
    client = entered(tmp_path)

    low, high = client.get("/api/runs").json()["domains"]["wer"]

    assert low <= 0.2 and 1.2 <= high < 2


def test_a_run_of_a_generator_is_as_long_as_its_limit_at_most(tmp_path: Path):
    described = manifest("sums", config={"tasks": ["sums"], "limit": 2000})
    described["cells"][0] |= {"n_expected": None, "epochs": 2}
    write_run(
        tmp_path / "run",
        [answered("a", "?", "x")],
        described=described,
        finished=False,
    )
    client = entered(tmp_path)

    cell = client.get(f"/api/live?run={only_run(client)}").json()["cells"][0]

    assert (cell["answered"], cell["expected"], cell["at_most"]) == (1, None, 4000)
