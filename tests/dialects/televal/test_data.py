"""Data: JSONL and Parquet with sounds, batches, templates, and the tool that turns Parquet into JSONL."""

import subprocess
import sys
import wave
from types import SimpleNamespace

import pytest

from assay.dialects.televal.data_templates import DataTemplate
from assay.dialects.televal.facade.dataset import BatchLoader
from assay.dialects.televal.parquet2jsonl import convert

AUDIO = [{"role": "user", "content": {"audio": "{{audio}}"}}]
HEARER = """
    def generate_once(self, audio, **kwargs):
        import wave
        with wave.open(audio) as sound:
            return {"pred": f"{sound.getnchannels()} {sound.getframerate()} {audio}"}
"""


@pytest.fixture
def parquet(project):
    """A folder of Parquet whose sounds are bytes, as Hugging Face writes them."""
    import pyarrow as pa
    import pyarrow.parquet

    sounds = [
        project.wav(f"raw/{n}.wav", rate=rate, channels=channels)
        for n, rate, channels in ((0, 16000, 1), (1, 44100, 2))
    ]
    rows = [
        {
            "key": f"k{n}",
            "query": "q",
            "answer": '["1", "x"]',
            "audio": {"bytes": sound.read_bytes(), "path": f"{n}.wav"},
        }
        for n, sound in enumerate(sounds)
    ]
    folder = project.root / "data/spoken"
    folder.mkdir(parents=True)
    pyarrow.parquet.write_table(
        pa.Table.from_pylist(rows), folder / "test-00000.parquet"
    )
    project.change("dataset", "data", file="data/spoken")
    project.entry(
        "template", "ask", "src.prompt.template.DataTemplate", {"template": AUDIO}
    )
    project.entry("evaluator", "contains", "src.evaluator.base.ExistMatch", {})
    project.model(HEARER)
    return project


def heard(project, output="out"):
    return [
        record["output"]["candidates"][0]["text"] for record in project.records(output)
    ]


def test_sounds_of_a_parquet_folder_reach_the_model_as_files_of_one_channel_at_16_khz(
    parquet,
):
    result = parquet.run("task")

    assert result.results[0].value == 1.0
    assert [text.split()[:2] for text in heard(parquet)] == [
        ["1", "16000"],
        ["1", "16000"],
    ]
    assert [text.rpartition("/")[2] for text in heard(parquet)] == ["k0.wav", "k1.wav"]


def test_temporary_sounds_are_gone_when_the_command_is(parquet, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    code = "import sys; from assay.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [
        sys.executable,
        "-c",
        code,
        "run",
        str(parquet.registry),
        "--dialect",
        "televal",
        "-o",
        str(parquet.root / "out"),
    ]

    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={"TMPDIR": str(temporary), "PATH": "", "HOME": str(tmp_path)},
    )

    assert done.returncode == 0, done.stderr
    assert str(temporary) in heard(parquet)[0]
    assert list(temporary.iterdir()) == []


def test_sounds_are_kept_under_save_query_audio_dir_and_reused(parquet):
    parquet.change("dataset", "data", save_query_audio_dir="test_data/audios")
    parquet.run("task")
    files = sorted((parquet.root / "test_data/audios/spoken").glob("*.wav"))
    before = [file.stat().st_mtime_ns for file in files]

    parquet.run("task", output="again")

    assert [file.name for file in files] == ["k0.wav", "k1.wav"]
    assert [file.stat().st_mtime_ns for file in files] == before
    assert str(files[0].resolve()) in heard(parquet, "again")[0]


def test_another_sound_under_the_same_key_never_takes_the_kept_file(parquet):
    parquet.change("dataset", "data", save_query_audio_dir="test_data/audios")
    kept = parquet.root / "test_data/audios/spoken"
    parquet.run("task")
    first = (kept / "k0.wav").read_bytes()
    import pyarrow as pa
    import pyarrow.parquet

    other = parquet.wav("raw/other.wav", seconds=0.3).read_bytes()
    rows = [
        {
            "key": "k0",
            "query": "q",
            "answer": "1",
            "audio": {"bytes": other, "path": None},
        }
    ]
    pyarrow.parquet.write_table(
        pa.Table.from_pylist(rows), parquet.root / "data/spoken/test-00000.parquet"
    )

    parquet.run("task", output="again")

    assert (kept / "k0.wav").read_bytes() == first
    assert len(list(kept.glob("k0-*.wav"))) == 1


def test_parquet_becomes_jsonl_and_wav_files(parquet):
    file, rows, sounds = convert(
        parquet.root / "data/spoken", parquet.root / "test_data"
    )

    assert (rows, sounds) == (2, 2)
    lines = parquet.lines(str(file.relative_to(parquet.root)))
    assert file == parquet.root / "test_data/spoken/spoken.jsonl"
    assert lines[1]["audio"] == str(
        (parquet.root / "test_data/spoken/audios/k1.wav").resolve()
    )
    assert lines[0]["answer"] == ["1", "x"]
    with wave.open(lines[1]["audio"]) as sound:
        assert (sound.getnchannels(), sound.getframerate()) == (1, 16000)


def test_the_converted_files_give_the_same_answers(parquet):
    first = parquet.run("task").results[0].value
    file, _, _ = convert(parquet.root / "data/spoken", parquet.root / "test_data")
    parquet.change("dataset", "data", file=str(file))

    assert parquet.run("task", output="again").results[0].value == first == 1.0


def test_a_loader_yields_lists_of_rows_and_cuts_limit_before_start(project):
    file = project.rows(*({"key": str(n)} for n in range(10)))

    batches = list(BatchLoader(file, batch_size=2, limit=5, start=2))

    assert batches == [[{"key": "2"}, {"key": "3"}], [{"key": "4"}]]
    assert len(BatchLoader(file, limit=5, start=2)) == 3


def test_limit_and_start_of_the_yaml_count(project):
    project.rows(*({"key": str(n), "query": "q", "answer": "q"} for n in range(10)))
    project.change("dataset", "data", limit=5, start=2)

    project.run("task")

    assert [record["id"] for record in project.records()] == ["2", "3", "4"]


def test_missing_keys_are_numbered_over_the_whole_file(project):
    project.rows(*({"query": f"q{n}", "answer": "q"} for n in range(3)))

    project.televal("infer", bsz=1)

    assert [
        line["key"] for line in project.lines("save/prediction/echo/task.jsonl")
    ] == ["0", "1", "2"]


def test_a_key_that_comes_twice_is_reported_and_overwrites_nothing(project):
    project.rows(
        {"key": "a", "query": "one", "answer": "one"},
        {"key": "a", "query": "two", "answer": "two"},
    )

    result = project.run("task")

    assert (result.status, result.results[0].outcomes) == (
        "partial",
        {"scored": 1, "data_error": 1},
    )


def test_another_key_column_and_missing_extra_values(project):
    project.change("dataset", "data", key_col="uid", extra_col=["mood"])
    project.rows(
        {"uid": "u1", "query": "q", "answer": "q", "mood": "calm"},
        {"uid": "u2", "query": "q", "answer": "q"},
    )

    project.televal("infer")

    assert [
        (line["key"], line["mood"])
        for line in project.lines("save/prediction/echo/task.jsonl")
    ] == [
        ("u1", "calm"),
        ("u2", None),
    ]


def test_a_users_own_dataset_class_gives_batches(project):
    project.write(
        "src/mine/rows.py",
        "class Rows:\n    key_col, ref_col, query_col, extra_col = 'key', 'answer', 'query', None\n\n"
        "    def __init__(self, n):\n        self.n = n\n\n"
        "    def __iter__(self):\n        yield [{'key': str(i), 'query': 'q', 'answer': 'q'} for i in range(self.n)]\n",  # noqa: E501
    )
    project.entry("dataset", "data", "src.mine.rows.Rows", {"n": 3})

    result = project.run("task")

    assert (result.results[0].n, result.results[0].value) == (3, 1.0)


def test_a_row_whose_template_names_a_missing_column_is_a_fault_of_that_row(project):
    project.rows({"key": "a", "query": "x", "answer": "x"}, {"key": "b", "answer": "x"})

    result = project.run("task")

    assert result.results[0].outcomes == {"scored": 1, "data_error": 1}
    assert (
        "'query' is undefined; the row has the columns key, answer" in result.notes[0]
    )


@pytest.mark.parametrize(
    "value", ["1949", "null", "true", "[1, 2]", '{"a": 1}', "", "  x "]
)
def test_a_leaf_of_a_template_stays_the_text_it_is(value):
    made = DataTemplate([{"role": "user", "content": {"text": "{{query}}"}}]).load(
        query=value
    )

    assert made == [{"role": "user", "content": {"text": value}}]


def test_a_template_that_is_one_text_renders_to_a_structure():
    template = DataTemplate('{"nrounds": {{ n }}, "dialogue": {{ turns | tojson }}}')

    assert template.load(n=1, turns=[{"role": "A", "content": {"text": "1949"}}]) == {
        "nrounds": 1,
        "dialogue": [{"role": "A", "content": {"text": "1949"}}],
    }


def test_structure_inside_a_template_is_read_where_structure_belongs():
    template = DataTemplate(
        {
            "nrounds": "{{ n }}",
            "dialogue": "{{ turns | tojson }}",
            "instruct": {"content": {"text": "{{ n }}"}},
        }
    )

    assert template.load(n=2, turns=[1]) == {
        "nrounds": 2,
        "dialogue": [1],
        "instruct": {"content": {"text": "2"}},
    }


def test_getvar_gives_none_for_what_is_missing_or_not_a_number():
    template = DataTemplate(
        [
            {
                "role": "user",
                "content": {
                    "text": "{{ getvar('a') }} {{ getvar('b') }} {{ getvar('c', 3) }}"
                },
            }
        ]
    )

    assert template.load(a=float("nan"))[0]["content"]["text"] == "None None 3"


def test_a_template_that_renders_to_no_structure_is_an_error():
    with pytest.raises(ValueError, match="does not render to JSON"):
        DataTemplate("plain {{ x }}").load(x=1)
    with pytest.raises(
        ValueError, match="must render to a list of roles or a dialogue"
    ):
        DataTemplate("3").load()


def test_templates_cannot_reach_into_python(project):
    project.entry(
        "template",
        "ask",
        "src.prompt.template.DataTemplate",
        {
            "template": [
                {"role": "user", "content": {"text": "{{ query.__class__.__mro__ }}"}}
            ]
        },
    )

    with pytest.raises(Exception, match=r"none of the 2 rows can be used.*unsafe"):
        project.run("task")


def test_a_file_of_rows_keeps_tuples(tmp_path):
    file = tmp_path / "x.jsonl"
    file.write_text('{"ref": {"__tuple__": true, "items": ["a", ["b"]]}}\n')

    assert BatchLoader.load_jsonl(file) == [{"ref": ("a", ["b"])}]


def test_a_folder_on_the_hub_is_fetched_with_its_sounds_undecoded(monkeypatch):
    asked = []

    class Streamed(list):
        features = None

    def load_dataset(name, **options):
        asked.append((name, options))
        return Streamed([{"key": "a", "answer": '["x"]'}])

    monkeypatch.setitem(
        sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset)
    )

    batch = next(iter(BatchLoader("org/repo/noise/level-5", batch_size=4)))

    assert batch == [{"key": "a", "answer": ["x"]}]
    files = {"test": "noise/level-5/*.parquet"}
    assert asked == [
        ("org/repo", {"data_files": files, "split": "test", "streaming": True})
    ]


def test_a_missing_dataset_lists_possible_forms(project):
    project.change("dataset", "data", file="data/gone.jsonl")

    with pytest.raises(
        Exception, match=r"gone.jsonl.*a Parquet folder, or org/repo/folder"
    ):
        project.run("task")
