"""`ulmeval.smp`: helpers, files by suffix, and which pickles are read."""

import pickle
from pathlib import Path

import pytest

from assay.core import UsageError
from assay.dialects.kits import smp
from assay.dialects.kits.state import Surroundings, around


def test_the_base64_helpers_round_trip_a_png_with_alpha(place):
    from PIL import Image

    picture = Image.new("RGBA", (5, 5), (10, 20, 30, 40))
    picture.save("in.png")

    smp.decode_base64_to_image_file(
        smp.encode_image_file_to_base64("in.png"), "out.png"
    )

    assert (
        smp.decode_base64_to_image(smp.encode_image_to_base64(picture)).tobytes()
        == picture.tobytes()
    )
    assert Path("out.png").read_bytes() == Path("in.png").read_bytes()


@pytest.mark.parametrize("suffix", ["json", "pkl", "jsonl"])
def test_what_is_dumped_can_be_loaded(place, suffix):
    data = [{"a": 1, "b": "NA"}, {"a": 0, "b": "None"}]

    smp.dump(data, f"x.{suffix}")

    assert smp.load(f"x.{suffix}") == data


@pytest.mark.parametrize("suffix", ["tsv", "csv"])
def test_tables_keep_their_texts(place, suffix):
    import pandas

    smp.dump(
        pandas.DataFrame({"index": [1, 2], "prediction": ["NA", "1"]}), f"x.{suffix}"
    )

    assert smp.load(f"x.{suffix}").to_dict("list") == {
        "index": [1, 2],
        "prediction": ["NA", "1"],
    }


def test_a_pickle_from_elsewhere_is_refused_unread_without_consent(place):
    class Evil:
        def __reduce__(self):
            return Path.touch, (Path("owned"),)

    Path("evil.pkl").write_bytes(pickle.dumps(Evil()))

    with pytest.raises(UsageError, match="--trust-pickle"):
        smp.load("evil.pkl")
    assert not Path("owned").exists()
    with around(Surroundings(trust_pickle=True)):
        smp.load("evil.pkl")
    assert Path("owned").exists()


def test_a_pickle_that_dump_wrote_in_an_earlier_process_is_read(place):
    smp.dump({"1_0": "yes"}, "judge.pkl")

    assert smp.load("judge.pkl") == {"1_0": "yes"}


@pytest.mark.parametrize("change", ["content", "place", "key"])
def test_a_signed_pickle_that_changed_or_moved_or_came_from_another_user_is_refused(
    place, monkeypatch, change
):
    smp.dump({"a": 1}, "a.pkl")
    if change == "content":
        Path("a.pkl").write_bytes(pickle.dumps({"a": 2}))
    elif change == "place":
        Path("b").mkdir()
        for name in ("a.pkl", ".a.pkl.signed"):
            Path(name).rename(Path("b") / name)
    else:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(place.folder / "somebody else"))

    with pytest.raises(UsageError, match="was not written by this run"):
        smp.load("b/a.pkl" if change == "place" else "a.pkl")


def test_a_star_import_brings_the_libraries_users_rely_on(place):
    names = set(smp.__all__)

    assert {
        "pd",
        "np",
        "os",
        "osp",
        "json",
        "defaultdict",
        "Image",
        "load",
        "dump",
        "warnings",
        "cp",
    } <= names
    assert (
        smp.osp.join("a", "b") == "a/b"
        and smp.pd.DataFrame
        and smp.np.mean([1, 3]) == 2
    )
    with pytest.raises(AttributeError, match="has no 'nonsense'"):
        smp.nonsense


def test_lmudata_counts_only_if_it_is_a_folder(place, monkeypatch):
    assert smp.LMUDataRoot() == str(place.data)
    monkeypatch.setenv("LMUData", str(place.folder / "not there"))
    monkeypatch.setenv("HOME", str(place.folder))

    assert smp.LMUDataRoot() == str(place.folder / "LMUData")


def test_small_helpers(place):
    assert smp.toliststr("['a', 'b']") == ["a", "b"] and smp.toliststr("a") == ["a"]
    assert smp.istype("7", int) and not smp.istype("__import__('os')", int)
    assert smp.listinstr(["Bench"], "T2ICompBench") and not smp.listinstr(["x"], "y")
    assert smp.cn_string("苹果") and not smp.cn_string("apple")
    assert list(smp.extract_json_objects('so {"a": 1} and {bad} {"b": [2]}')) == [
        {"a": 1},
        {"b": [2]},
    ]
    assert smp.d2df({"a": 1}).to_dict("records") == [{"a": 1}]
    assert len(smp.timestr("day")) == 8 and smp.splitlen("a/b") == 2
    assert smp.md5("abc") == "900150983cd24fb0d6963f7d28e17f72"
    assert smp.parse_file("just words") == (None, "just words")


def test_a_picture_is_recognised_by_parse_file(place):
    from PIL import Image

    Image.new("RGB", (2, 2)).save("a.webp")

    kind, path = smp.parse_file("a.webp")

    assert (kind, path) == ("image/webp", "a.webp")
