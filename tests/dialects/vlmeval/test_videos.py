"""Films: as pictures for models that see stills, whole for those that say `VIDEO_LLM`."""

import json

import pytest
from PIL import Image as pillow

from assay.core import DataError, UsageError
from assay.dialects.vlmeval.videos import Spacing, video_frames
from assay.dialects.vlmeval.vlmeval_command import evaluate

av = pytest.importorskip("av")

FRAMES = 24
FILMS = """
    from vlmeval.smp import *
    from vlmeval.dataset.video_base import VideoBaseDataset

    class Films(VideoBaseDataset):
        TYPE = 'Video-VQA'
        DATASET_URL = {'Films': ''}

        def __init__(self, dataset='Films', pack=False, nframe=4, fps=-1):
            super().__init__(dataset=dataset, pack=pack, nframe=nframe, fps=fps)

        def build_prompt(self, line, video_llm):
            assert isinstance(line, int)
            return super().build_prompt(line, video_llm)

        def evaluate(self, eval_file, **judge_kwargs):
            data = load(eval_file)
            return {'right': float(np.mean([p == a for p, a in zip(data['prediction'], data['answer'])]))}
"""
WATCHERS = """
    from vlmeval.vlm import BaseModel

    class Stills(BaseModel):
        def generate_inner(self, message, dataset=None):
            return ' '.join(entry['type'] for entry in message)

    class Watcher(Stills):
        VIDEO_LLM = True
"""


@pytest.fixture
def film(lmu):
    """A second of film whose grey grows."""
    path = lmu / "clip.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=FRAMES)
        stream.width = stream.height = 32
        stream.pix_fmt = "yuv420p"
        for number in range(FRAMES):
            grey = pillow.new("RGB", (32, 32), (number * 10,) * 3)
            for packet in stream.encode(av.VideoFrame.from_image(grey)):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return path


@pytest.fixture
def watchers(file):
    return file("watchers.py", WATCHERS)


@pytest.mark.parametrize(
    ("spacing", "places"),
    [
        (Spacing(4, -1), [4, 9, 14, 19]),
        (Spacing(1, -1), [12]),
        (Spacing(0, 3), [0, 8, 16]),
        (Spacing(30, -1), [min(part * 24 // 31, 23) for part in range(1, 31)]),
    ],
)
def test_frames_are_those_upstream_takes(spacing, places):
    assert spacing.places(FRAMES, float(FRAMES)) == places


def test_frames_become_files_that_are_made_once(film, tmp_path):
    folder = tmp_path / "frames"

    files = video_frames(film, folder, Spacing(3, -1))
    greys = [pillow.open(file).convert("L").getpixel((16, 16)) for file in files]
    (folder / "frame-1-of-3.jpg").write_bytes(b"kept")
    again = video_frames(film, folder, Spacing(3, -1))

    assert [file.rpartition("/")[2] for file in files] == [
        f"frame-{n}-of-3.jpg" for n in (1, 2, 3)
    ]
    assert greys == sorted(greys) and greys[0] < greys[2]
    assert again == files
    assert (folder / "frame-1-of-3.jpg").read_bytes() == b"kept"


def test_a_model_of_stills_gets_pictures_and_one_of_films_gets_the_film(
    film, table, file, watchers, run, tmp_path
):
    dataset = file("films.py", FILMS)
    stills = "image image image image text"
    for name, answer in (("Stills", stills), ("Watcher", "video text")):
        table(
            "Films",
            "index video question answer",
            [["7", "clip", "What grows?", answer]],
        )

        result = run(dataset, f"{watchers}:{name}", output=tmp_path / name)

        assert result.value("evaluate.right") == 1.0, name


def test_nframe_comes_from_the_data_config(film, table, file, watchers):
    table(
        "Films",
        "index video question answer",
        [[0, "clip", "What grows?", "image image text"]],
    )
    config = json.dumps({"Two": {"class": "Films", "dataset": "Films", "nframe": 2}})
    dataset = [
        "--register",
        file("films.py", FILMS),
        "--data",
        "Two",
        "--data-config",
        config,
    ]

    (result,) = evaluate([*dataset, "--model", f"{watchers}:Stills"])

    assert result.value("evaluate.right") == 1.0


def test_a_missing_video_is_a_counted_failure_of_its_row(
    film, table, file, watchers, run
):
    rows = [[0, "clip", "?", "image image image image text"], [1, "lost", "?", "x"]]
    table("Films", "index video question answer", rows)

    result = run(file("films.py", FILMS), f"{watchers}:Stills")

    assert result[0].outcomes == {"scored": 1, "data_error": 1}
    assert any("no such video" in note for note in result.notes)


def test_a_file_that_is_not_a_video_is_an_error(tmp_path):
    path = tmp_path / "words.mp4"
    path.write_text("words")

    with pytest.raises(DataError, match="the video cannot be read"):
        video_frames(path, tmp_path, Spacing(2, -1))


def test_packed_questions_are_refused(film, table, file):
    from assay.dialects.vlmeval.vlmeval_toolkit import TOOLKIT

    table("Films", "index video question answer", [[0, "clip", "?", "x"]])

    with pytest.raises(
        UsageError, match="pack=True would ask all questions of a video at once"
    ):
        TOOLKIT.load(file("films.py", FILMS)).module.Films(pack=True)
