"""The kits' `smp`: equal to upstream's on calls of ours, and one implementation for both."""

import importlib
import json
import sys
from pathlib import Path

import pytest

from assay.dialects.protocol import OURS, UPSTREAM, choose

pytest.importorskip("pandas")

CASES = Path(__file__).parent / "upstream"
KITS = ("vlmeval", "ulmeval")
EXPLAINED = ("load unknown",)
"""Outcomes that differ on purpose: assay reads `.txt` too."""


@pytest.fixture
def cases(monkeypatch, tmp_path):
    monkeypatch.setenv("LMUData", str(tmp_path))
    for name in (
        "OPENAI_API_KEY",
        "AZURE_OPENAI_API_KEY",
        "CUDA_VISIBLE_DEVICES",
        "RANK",
        "WORLD_SIZE",
        "PRED_FORMAT",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.syspath_prepend(str(CASES))
    yield importlib.import_module("smp_cases")
    sys.modules.pop("smp_cases", None)
    for kit in KITS:
        choose(kit, OURS)


LEFT_OUT = {
    "INFER_FAIL_MSG",
    "LEGACY_EVAL_ID_PATTERN",
    "MMBenchOfficialServer",
    "NEW_EVAL_ID_PATTERN",
    "NumpyEncoder",
    "RUN_STATUS_NAME",
    "apiok",
    "bincount",
    "build_eval_id",
    "build_options",
    "circular_pred",
    "collect_run_benchmark_report",
    "colored",
    "copy_prediction_file",
    "default_set",
    "dict_merge",
    "fetch_aux_files",
    "fg",
    "find_prediction_files",
    "fnp",
    "fout",
    "gen_bash",
    "get_cuda_visible_devices",
    "get_eval_file_path",
    "get_infer_aux_file_names",
    "h2r",
    "is_eval_run_id",
    "is_prediction_complete",
    "isimg",
    "last_modified",
    "list_eval_run_dirs",
    "load_run_status",
    "ls",
    "mrlines",
    "mwlines",
    "parquet_to_tsv",
    "pip_install_robust",
    "prepare_reuse_files",
    "r2h",
    "run_command",
    "select_reuse_run",
    "setup_subprocess_logger",
    "stack_image",
    "upsert_dataset_status",
    "upsert_run_status",
    "youtube_dl",
}
"""Names that no dataset or model file of either toolkit needs: scripts get them from a checkout."""


@pytest.mark.parametrize("kit", KITS)
def test_each_call_gives_what_upstream_gives(cases, kit):
    smp = importlib.import_module("assay.dialects.kits.smp")
    expected = json.loads((CASES / f"smp_{kit}.json").read_text("utf-8"))
    choose(kit, UPSTREAM)

    found = json.loads(json.dumps(cases.outcomes(smp)))

    different = {
        name: (found.get(name), value)
        for name, value in expected.items()
        if found.get(name) != value and name not in EXPLAINED
    }
    assert not different


@pytest.mark.parametrize(
    ("kit", "documents"),
    [("vlmeval", ("newest", "documented")), ("ulmeval", ("newest",))],
)
def test_every_name_of_upstreams_smp_is_there(kit, documents):
    smp = importlib.import_module("assay.dialects.kits.smp")
    names = json.loads((CASES / "smp_names.json").read_text("utf-8"))

    wanted = {name for document in documents for name in names[f"{kit} {document}"]}
    lacking = {name for name in wanted if not hasattr(smp, name)}

    from assay.dialects.kits.smp import SHORT_NAMES, offered

    assert lacking - (set(SHORT_NAMES) - set(offered())) == LEFT_OUT & wanted


def test_both_kits_have_the_same_functions():
    vlmeval, ulmeval = (
        importlib.import_module("assay.dialects.kits.smp") for kit in KITS
    )

    for name in (
        "load",
        "dump",
        "md5",
        "toliststr",
        "timestr",
        "istype",
        "LMUDataRoot",
        "download_file",
    ):
        assert getattr(vlmeval, name) is getattr(ulmeval, name)


@pytest.mark.parametrize("cell", ["['a'", "[a]", "['a', ]x]"])
def test_a_malformed_list_is_a_value_error_in_both(cell):
    from assay.dialects.kits.smp.misc import toliststr

    if cell.endswith("]"):
        with pytest.raises(ValueError, match="not a list of texts"):
            toliststr(cell)
    else:
        assert toliststr(cell) == [cell]


def test_a_url_is_loaded_through_the_confined_fetch_into_files(tmp_path, monkeypatch):
    from assay.dialects.kits.smp import file

    monkeypatch.setenv("LMUData", str(tmp_path))
    asked = []

    def fetched(url, path, **settings):
        asked.append((url, path.relative_to(tmp_path).as_posix(), settings))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"a": 1}')
        return path

    monkeypatch.setattr(file, "fetch_declared", fetched)

    assert file.load("https://example.org/x/rows.json?download=1") == {"a": 1}
    assert file.load("https://example.org/x/rows.json?download=1") == {"a": 1}
    assert asked == [
        (
            "https://example.org/x/rows.json?download=1",
            "files/rows.json",
            {"allow_private": False},
        )
    ]


def test_a_url_that_cannot_be_reached_is_one_line(tmp_path, monkeypatch):
    from assay.core import AssayError
    from assay.dialects.kits.smp.file import load

    monkeypatch.setenv("LMUData", str(tmp_path))

    with pytest.raises(AssayError) as caught:
        load("http://127.0.0.1:9/rows.tsv")

    assert "127.0.0.1" in str(caught.value) and "\n" not in str(caught.value).strip()


@pytest.mark.parametrize("kit", KITS)
def test_an_empty_text_of_an_excel_file_comes_back_as_text_and_as_nothing_with_upstream(
    cases, kit, tmp_path
):
    import pandas

    smp = importlib.import_module("assay.dialects.kits.smp")
    found = []
    for protocol in (OURS, UPSTREAM):
        choose(kit, protocol)
        smp.dump(pandas.DataFrame({"method": ["", "x"]}), str(tmp_path / "a.xlsx"))
        found.append(
            [str(cell) for cell in smp.load(str(tmp_path / "a.xlsx"))["method"]]
        )

    assert found == [["", "x"], ["nan", "x"]]
