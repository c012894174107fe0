"""Tables of benchmarks: pictures in their cells, downloads, faults of rows."""

import hashlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from http_thread import in_a_thread

import assay
from assay.core import DataError, UsageError
from assay.dialects.kits.state import Surroundings, around
from assay.dialects.ulmeval.drawing_datasets import (
    ImageBaseDataset,
    TextBaseDataset,
    build_dataset,
)

BODY = b"index\tquestion\n1\ta red ball\n2\ta tree\n"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header(
            "Content-Length", str(len(BODY) + (9 if "cut" in self.path else 0))
        )
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with in_a_thread(Handler) as server:
        yield f"http://127.0.0.1:{server.server_port}"


def text_class(url: str, md5: str | None, base: type = TextBaseDataset) -> type:
    return type(
        "Web", (base,), {"DATASET_URL": {"Web": url}, "DATASET_MD5": {"Web": md5}}
    )


@pytest.mark.parametrize("base", [TextBaseDataset, ImageBaseDataset])
def test_a_declared_table_is_fetched_on_first_use_and_kept(place, server, base):
    cls = text_class(f"{server}/Web.tsv", hashlib.md5(BODY).hexdigest(), base)

    with around(Surroundings(allow_private_urls=True)):
        made = cls("Web")

    assert list(made.data["index"]) == [1, 2]
    assert (place.data / "Web.tsv").read_bytes() == BODY


def test_a_wrong_md5_after_the_download_is_an_error_and_nothing_is_kept(place, server):
    cls = text_class(f"{server}/Web.tsv", "0" * 32)

    with (
        around(Surroundings(allow_private_urls=True)),
        pytest.raises(DataError, match="declared is 0000"),
    ):
        cls("Web")

    assert not (place.data / "Web.tsv").exists()


def test_a_truncated_download_is_never_used(place, server):
    cls = text_class(f"{server}/cut.tsv", None)

    with (
        around(Surroundings(allow_private_urls=True)),
        pytest.raises(DataError, match="cut after"),
    ):
        cls("Web")

    assert not (place.data / "cut.tsv").exists()


def test_a_private_address_is_refused_without_consent(place, server):
    with pytest.raises(UsageError):
        text_class(f"{server}/Web.tsv", None)("Web")


def test_a_table_without_an_index_says_what_it_has(place):
    (place.data / "Web.tsv").write_text("id\tquestion\n1\tx\n")

    with pytest.raises(
        UsageError, match=r"no column `index` \(there are id, question\)"
    ):
        text_class("Web.tsv", None)("Web")


def test_a_missing_table_names_its_expected_location(place):
    with pytest.raises(UsageError, match=r"Web.tsv: no such table, and no URL"):
        text_class("", None)("Web")


def test_a_line_may_be_a_number_or_a_row(place):
    (place.data / "Web.tsv").write_text("index\tquestion\n10\ta\n20\tNA\n")
    made = text_class("Web.tsv", None)("Web")

    assert made.build_prompt(1) == [{"type": "text", "value": "NA"}]
    assert made.build_prompt(made.data.iloc[0]) == [{"type": "text", "value": "a"}]
    assert len(made) == 2 and made[0]["index"] == 10


def test_indices_that_are_not_all_numbers_stay_text(place):
    (place.data / "Web.tsv").write_text("index\tquestion\n007\ta\n8\tb\n")

    assert list(text_class("Web.tsv", None)("Web").data["index"]) == ["007", "8"]


def test_a_prompt_that_looks_like_a_number_stays_text(place):
    (place.data / "Web.tsv").write_text("index\tprompt\n1\t7\n2\t08\n")

    assert text_class("Web.tsv", None)("Web").build_prompt(0) == [
        {"type": "text", "value": "7"}
    ]


def test_a_class_is_found_by_the_name_of_its_dataset(place):
    (place.data / "Web.tsv").write_text("index\tquestion\n1\ta\n")
    cls = text_class("Web.tsv", None)

    assert type(build_dataset("Web")) is cls
    assert build_dataset("nobody knows this") is None


IMAGE_DATASET = """
from ulmeval.dataset.image_base import ImageBaseDataset
from ulmeval.smp import *

class Edits(ImageBaseDataset):
    TYPE = 'IT2I'
    DATASET_URL = {'Edits': ''}

    def build_prompt(self, line):
        if isinstance(line, int):
            line = self.data.iloc[line]
        paths = self.dump_image(line)
        msgs = [dict(type='text', value=line['prompt'])]
        for path in paths:
            msgs.append(dict(type='image', value=path))
            msgs.append(dict(type='text', value='|'))
        return msgs

    def evaluate(self, eval_file, **judge_kwargs):
        return {'rows': len(load(eval_file))}
"""
COPIER = """
import json
from PIL import Image
from ulmeval.ulm.base import BaseModel

class Copier(BaseModel):
    INTERLEAVE = True
    def generate_inner(self, message, dataset=None):
        seen = [m['value'] if m['type'] == 'text' else list(Image.open(m['value']).convert('RGB').getpixel((0, 0)))
                for m in message]
        open('seen.jsonl', 'a').write(json.dumps(seen) + '\\n')
        return Image.new('RGB', (4, 4))
"""


def test_pictures_in_cells_reach_the_model_as_files_in_the_order_written(place, png):
    import json

    red, blue, clear = png("red"), png("blue"), png((0, 255, 0, 0), "RGBA")
    rows = [
        ("1", "one", red),
        ("2", "two", f"['{blue}', '{red}']"),
        ("3", "same as 1", "1"),
        ("4", "clear", clear),
    ]
    table = "index\tprompt\timage\n" + "".join("\t".join(row) + "\n" for row in rows)
    (place.data / "Edits.tsv").write_text(table)
    dataset, model = (
        place.write("edits.py", IMAGE_DATASET),
        place.write("copier.py", COPIER),
    )

    result = assay.run(dataset, f"{model}:Copier", output="run")

    assert result.status == "complete"
    assert [
        json.loads(line) for line in Path("seen.jsonl").read_text().split("\n")[:-1]
    ] == [
        ["one", [255, 0, 0], "|"],
        ["two", [0, 0, 255], "|", [255, 0, 0], "|"],
        ["same as 1", [255, 0, 0], "|"],
        ["clear", [255, 255, 255], "|"],
    ]


def test_a_malformed_list_is_an_error_of_its_row_and_never_executed(place, png):
    table = (
        "index\tprompt\timage\n"
        f"1\tgood\t{png('red')}\n"
        "2\tevil\t[__import__('pathlib').Path('owned').touch()]\n"
        "3\tlost\t99\n"
    )
    (place.data / "Edits.tsv").write_text(table)
    dataset, model = (
        place.write("edits.py", IMAGE_DATASET),
        place.write("copier.py", COPIER),
    )

    result = assay.run(dataset, f"{model}:Copier", output="run")

    drawn = next(row for row in result if row.metric == "images")
    assert (drawn.n, drawn.outcomes["data_error"]) == (1, 2)
    assert not Path("owned").exists()
    assert any("not a list of texts" in note for note in result.notes)


def test_paths_replace_images_without_an_image_column(place):
    from PIL import Image

    root = place.data / "images" / "Edits"
    root.mkdir(parents=True)
    Image.new("RGB", (4, 4), "blue").save(root / "inside.png")
    Image.new("RGB", (4, 4), "red").save(place.folder / "outside.png")
    table = f"index\tquestion\timage_path\n1\ta\tinside.png\n2\tb\t['{place.folder / 'outside.png'}', 'inside.png']\n"
    (place.data / "Edits.tsv").write_text(table)

    made = text_class("Edits.tsv", None, ImageBaseDataset)
    made.DATASET_URL = {"Edits": ""}
    dataset = made("Edits")

    assert dataset.meta_only
    assert dataset.build_prompt(1) == [
        {"type": "image", "value": str(place.folder / "outside.png")},
        {"type": "image", "value": str(root / "inside.png")},
        {"type": "text", "value": "b"},
    ]
    assert dataset.dump_image(dataset.data.iloc[0]) == [str(root / "inside.png")]


def test_a_changed_picture_is_not_taken_for_the_old_one(place, png):
    made = text_class("Web.tsv", None, ImageBaseDataset)
    paths = []
    for colour in ("red", "blue"):
        (place.data / "Web.tsv").write_text(
            f"index\tquestion\timage\n1\ta\t{png(colour)}\n"
        )
        paths += made("Web").dump_image(made("Web").data.iloc[0])

    assert len(set(paths)) == 2


def test_rows_without_a_picture_are_left_out_unless_they_are_wanted(place, png):
    (place.data / "Web.tsv").write_text(
        f"index\tquestion\timage\n1\ta\t{png('red')}\n2\tb\t\n"
    )
    made = text_class("Web.tsv", None, ImageBaseDataset)

    assert list(made("Web").data["index"]) == [1]
    assert list(made("Web", skip_noimg=False).data["index"]) == [1, 2]
