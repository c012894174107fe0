"""Dataset classes: their data, their judges, and how much of a table is held in memory."""

import hashlib
import re
from http.server import BaseHTTPRequestHandler

import pytest
from http_thread import in_a_thread

from assay.core import AssayError, UsageError
from assay.dialects.vlmeval.vlmeval_toolkit import TOOLKIT

LAZY = """
    from vlmeval.dataset import ImageBaseDataset

    class Lazy(ImageBaseDataset):
        TYPE = 'VQA'
        DATASET_URL = {'Lazy': '{URL}'}
        DATASET_MD5 = {'Lazy': {MD5}}
        SEEN = []

        def build_prompt(self, line):
            self.SEEN.append((self.is_loaded, type(line['index']).__name__, type(line['width']).__name__))
            return [dict(type='text', value=line['question'])]
"""


def lazy(file, url="", md5="None"):
    return file("lazy.py", LAZY.replace("{URL}", url).replace("{MD5}", md5))


def test_rows_are_passed_one_by_one_unless_code_reads_the_frame(
    table, picture, file, run, early_model
):
    table(
        "Lazy",
        "index image question width answer",
        [[n, picture(0), "Q", 1.5, "x"] for n in range(3)],
    )
    path = lazy(file)
    model = file(
        "m.py",
        "class M:\n    def generate(self, image_path, prompt, dataset=None):\n        return 'x'\n",
    )

    result = run(path, f"{model}:M")

    assert result.value("exact_match") == 1.0
    assert set(TOOLKIT.load(path).module.Lazy.SEEN) == {(False, "int", "float")}


def test_a_base_class_of_its_file_is_not_a_dataset(
    table, picture, file, run, early_model
):
    path = table("Mine", "index image question answer", [[0, picture(0), "Q", "x"]])
    source = """
        from vlmeval.utils import TSVDataset

        class Base(TSVDataset):
            def asked(self, line):
                return line['question'].upper()

        class Child(Base):
            def build_prompt(self, line, dataset=None):
                return dict(image=self.dump_image(line)[0], text=self.asked(line))
    """

    result = run(file("d.py", source), early_model({0: "x"}), data=str(path))

    assert [row.task for row in result] == ["Mine", "Mine"] and result.value(
        "exact_match"
    ) == 1.0


def test_a_datasets_name_in_place_of_a_file_is_answered_with_the_file(
    table, picture, file, run, early_model, lmu
):
    table("Mine", "index image question answer", [[0, picture(0), "Q", "x"]])
    source = """
        from vlmeval.utils import TSVDataset

        class Child(TSVDataset):
            def build_prompt(self, line, dataset=None):
                return dict(image=self.dump_image(line)[0], text='?')
    """

    with pytest.raises(UsageError) as caught:
        run(file("d.py", source), early_model({0: "x"}), data="Mine")

    assert str(caught.value) == (
        f"--data Mine: no such file; fix: --data {lmu / 'Mine.tsv'}, or name the dataset: file.py:Class@Mine"
    )


def test_the_frame_has_references_and_lists_resolved_and_rows_without_pictures_dropped(
    table, picture, file
):
    both = f"['{picture(1)}', '{picture(2)}']"
    rows = [[0, picture(0), "a"], [1, "0", "b"], [2, both, "c"], [3, "", "d"]]
    table("Lazy", "index image question", rows)

    frame = TOOLKIT.load(lazy(file)).module.Lazy("Lazy").data

    assert frame["image"].tolist() == [picture(0), picture(0), [picture(1), picture(2)]]
    assert frame["index"].tolist() == [0, 1, 2]


def test_a_class_that_loads_its_own_data_is_given_its_own_rows(file, run):
    source = """
        import pandas as pd
        from vlmeval.dataset import TextBaseDataset

        class Own(TextBaseDataset):
            TYPE = 'VQA'
            def load_data(self, dataset):
                return pd.DataFrame({'index': [1, 2], 'question': ['a', 'b'], 'answer': [0, 7]})
            def build_prompt(self, line):
                assert line['answer'] in (0, 7)
                return line['question']
    """
    model = file("m.py", "def answer(text):\n    return {'a': '0', 'b': '7'}[text]\n")

    result = run(file("own.py", source), f"{model}:answer")

    assert result.value("exact_match") == 1.0


def test_a_first_row_without_its_picture_is_counted_and_does_not_stop_the_plan(
    table, picture, file, early_model, run
):
    rows = [[0, "['broken", "?", "x"], [1, "", "?", "x"], [2, picture(3), "?", "x"]]
    table("Mine", "index image question answer", rows)
    source = """
        from vlmeval.utils import TSVDataset

        class Mine(TSVDataset):
            pass
    """

    result = run(file("d.py", source), early_model({3: "x"}))

    assert result[0].outcomes == {"data_error": 2, "scored": 1}
    assert "not a list of texts" in result.notes[0]
    assert "RowFault" not in result.notes[0]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def served(picture):
    with in_a_thread(Handler) as server:
        server.body = f"index\timage\tquestion\twidth\tanswer\n0\t{picture(0)}\tQ\t2.5\tx\n".encode()
        yield server


def test_a_declared_tsv_is_brought_on_first_use_and_checked_afterwards(
    served, file, run, lmu
):
    model = file(
        "m.py",
        "class M:\n    def generate(self, image_path, prompt, dataset=None):\n        return 'x'\n",
    )
    url = f"http://127.0.0.1:{served.server_port}/Lazy.tsv"
    right = lazy(file, url, repr(hashlib.md5(served.body).hexdigest()))

    result = run(right, f"{model}:M", allow_private_urls=True)

    assert result.value("exact_match") == 1.0
    assert (lmu / "Lazy.tsv").read_bytes() == served.body


def test_a_tsv_with_the_wrong_md5_stops_the_run_and_is_not_kept(served, file, run, lmu):
    url = f"http://127.0.0.1:{served.server_port}/Lazy.tsv"

    with pytest.raises(AssayError, match="declared is"):
        run(lazy(file, url, repr("0" * 32)), "smollm2", allow_private_urls=True)

    assert list(lmu.iterdir()) == []


def test_a_missing_tsv_lists_the_searched_locations(file, run, lmu):
    with pytest.raises(UsageError, match=r"finds no TSV.*LMUData"):
        run(lazy(file), "smollm2")


JUDGING = """
    from vlmeval.smp import *
    from vlmeval.dataset import ImageBaseDataset
    from vlmeval.dataset.utils import build_judge, DEBUG_MESSAGE
    from vlmeval.utils import track_progress_rich

    class Judged(ImageBaseDataset):
        DATASET_URL = {'Judged': ''}
        def build_prompt(self, line):
            return [dict(type='text', value=line['question'])]
        def evaluate(self, eval_file, **judge_kwargs):
            judge = build_judge(**judge_kwargs)
            assert judge.working(), DEBUG_MESSAGE
            data = load(eval_file)
            jobs = [(f'Is {p} right?',) for p in data['prediction']]
            answers = track_progress_rich(judge.generate, jobs, nproc=judge_kwargs['nproc'])
            data['hit'] = [a == 'yes' for a in answers]
            return pd.DataFrame([{'split': 'dev', 'Overall': data['hit'].mean()}])
"""


def test_an_evaluate_that_asks_a_judge_asks_each_thing_once(table, file, run, tmp_path):
    from assay.runner.run import score

    table("Judged", "index question answer", [[0, "a", "x"], [1, "b", "x"]])
    judge_source = """
        def judge(text):
            with open('asked.txt', 'a') as log:
                log.write(text + '\\n')
            return 'yes' if 'A' in text else 'no'
    """
    model = file("m.py", "def answer(text):\n    return text.upper()\n")
    settings = {"judges": {"judge": file("judge.py", judge_source) + ":judge"}}

    result = run(file("judged.py", JUDGING), f"{model}:answer", **settings)
    again = score(result.folder)

    assert result.value("evaluate.Overall") == again.value("evaluate.Overall") == 0.5
    assert sorted((tmp_path / "asked.txt").read_text().splitlines()) == [
        "Is A right?",
        "Is B right?",
    ]


def test_an_evaluate_without_its_judge_is_an_error(table, file, run):
    table("Judged", "index question answer", [[0, "a", "x"]])
    model = file("m.py", "def answer(text):\n    return text\n")

    result = run(file("judged.py", JUDGING), f"{model}:answer")

    assert any("--judge MODEL" in note for note in result.notes)


PICTURED = """
    from vlmeval.dataset import ImageBaseDataset

    class Pictured(ImageBaseDataset):
        TYPE = 'VQA'
        DATASET_URL = {'Pictured': '', 'MME': ''}
        SEEN = []

        def __init__(self, dataset='Pictured', skip_noimg=True):
            super().__init__(dataset, skip_noimg)

        def build_prompt(self, line):
            self.SEEN.append(self.is_loaded)
            return [dict(type='text', value=line['question'])]

    class Everything(Pictured):
        def __init__(self, dataset='Pictured'):
            super().__init__(dataset, skip_noimg=False)

    class Framed(Pictured):
        def post_build(self, dataset):
            self.first = self.data.iloc[0]
"""


@pytest.fixture
def pictured(table, picture, file, lmu):
    (lmu / "images" / "Pictured").mkdir(parents=True)
    rows = [
        [0, picture(0), "", "own"],
        [1, "", "", "none"],
        [2, "0", "", "lent"],
        [3, "", "x.png", "path"],
    ]
    table("Pictured", "index image image_path question", rows)
    return file("pictured.py", PICTURED)


@pytest.mark.parametrize(
    ("name", "asked", "is_loaded"),
    [
        ("Pictured", ["lent", "own", "path"], False),
        ("Everything", ["lent", "none", "own", "path"], False),
        ("Framed", ["lent", "own", "path"], True),
    ],
)
def test_rows_without_a_picture_are_dropped_as_skip_noimg_says_whether_they_stream_or_not(
    pictured, run, name, asked, is_loaded
):
    from assay.models.scripted import Scripted
    from assay.store import RunReader

    result = run(f"{pictured}:{name}@Pictured", Scripted("x"))

    questions = sorted(
        str(record.prompt[0]["content"])
        for record in RunReader(result.folder).outputs()
    )
    assert questions == asked
    assert (result[0].n_expected, result.status) == (len(asked), "complete")
    assert set(TOOLKIT.load(pictured).module.Pictured.SEEN) == {is_loaded}


def test_dropping_holds_for_a_table_named_by_data_and_not_for_pictures_lent_by_the_name(
    pictured, picture, table, run, tmp_path
):
    from assay.models.scripted import Scripted

    other = table(
        "Other", "index image question", [[0, picture(0), "own"], [1, "", "none"]]
    )
    pairs = table(
        "MME",
        "index image question",
        [[0, picture(0), "own"], [1, "", "lent"], [2, "", "none"]],
    )

    by_data = run(
        f"{pictured}:Pictured", Scripted("x"), data=str(other), output=tmp_path / "a"
    )
    lent = run(f"{pictured}:Pictured@MME", Scripted("x"), output=tmp_path / "b")

    assert by_data[0].n_expected == 1
    assert lent[0].n_expected == 2
    assert pairs.exists()


def test_a_run_without_unpictured_rows_is_judged_elsewhere(
    pictured, file, lmu, tmp_path
):
    from assay.dialects.vlmeval.vlmeval_command import evaluate

    model = file("m.py", "def answer(text):\n    return text\n") + ":answer"
    arguments = ["--data", f"{pictured}:Pictured@Pictured", "--model", model]
    (inferred,) = evaluate([*arguments, "--mode", "infer"])

    (lmu / "Pictured.tsv").unlink()
    (judged,) = evaluate([*arguments, "--mode", "eval"])

    assert inferred[0].n == judged[0].n == 3


def test_a_class_may_prepare_the_table_itself_and_ask_whether_it_has_pictures(
    table, picture, file
):
    source = """
        from vlmeval.dataset import ImageBaseDataset

        class Mine(ImageBaseDataset):
            DATASET_URL = {'Mine': '', 'Paths': ''}
            def load_data(self, dataset):
                data = self.prepare_tsv(self.DATASET_URL[dataset], None)
                return data[data['question'] != 'skip']

        class Plain(ImageBaseDataset):
            DATASET_URL = {'Mine': '', 'Paths': ''}
    """
    table(
        "Mine",
        "index image question",
        [[0, picture(0), "skip"], [1, picture(0), "keep"]],
    )
    table("Paths", "index image_path question", [[0, "x.png", "a"]])
    module = TOOLKIT.load(file("d.py", source)).module

    assert list(module.Mine("Mine").data["question"]) == ["keep"]
    assert [module.Mine(name).meta_only for name in ("Mine", "Paths")] == [False, True]
    assert [module.Plain(name).meta_only for name in ("Mine", "Paths")] == [False, True]


def test_the_rows_come_from_the_classs_own_prepare_tsv(table, file):
    source = """
        from vlmeval.dataset import ImageBaseDataset

        class Mine(ImageBaseDataset):
            DATASET_URL = {'Mine': 'there/Mine.tsv', 'Other': 'there/Other.tsv'}
            DATASET_MD5 = {'Other': 'abc'}
            def prepare_tsv(self, url, file_md5=None):
                import pandas as pd
                return pd.DataFrame([{'index': 0, 'question': url, 'md5': file_md5}])
    """
    made = TOOLKIT.load(file("d.py", source)).module.Mine("Mine")

    assert list(made.data["question"]) == ["there/Mine.tsv"]
    assert made.load_data("Other").to_dict("records") == [
        {"index": 0, "question": "there/Other.tsv", "md5": "abc"}
    ]


def test_a_class_may_have_a_constructor_of_its_own_and_private_names_of_its_own(
    table, picture, file
):
    table("Mine", "index image question", [[0, picture(0), "mine"]])
    source = """
        from vlmeval.dataset import ImageBaseDataset

        class Bare(ImageBaseDataset):
            DATASET_URL = {'Mine': ''}
            def __init__(self, dataset='Mine'):
                self.dataset_name = dataset
                self.data = self.load_data(dataset)

        class Named(ImageBaseDataset):
            DATASET_URL = {'Mine': ''}
            def _data_path(self, dataset):
                return dataset + '.tsv'
            def _line(self):
                return 'a line'
            def load_data(self, dataset):
                return self.prepare_tsv(self._data_path(dataset))
            def build_prompt(self, line):
                return super().build_prompt(line) + [dict(type='text', value=self._line())]
    """
    module = TOOLKIT.load(file("d.py", source)).module

    assert list(module.Bare().data["question"]) == ["mine"]
    assert [entry["value"] for entry in module.Named("Mine").build_prompt(0)[1:]] == [
        "mine",
        "a line",
    ]


def test_two_models_of_one_run_have_prediction_files_of_their_own(
    table, file, tmp_path
):
    import assay
    from assay.runner.run import score

    table("Judged", "index question answer", [[0, "a", "x"], [1, "b", "x"]])
    source = """
        from vlmeval.smp import *
        from vlmeval.dataset import ImageBaseDataset

        class Judged(ImageBaseDataset):
            DATASET_URL = {'Judged': ''}
            def build_prompt(self, line):
                return [dict(type='text', value=line['question'])]
            def evaluate(self, eval_file, **judge_kwargs):
                dump({'said': list(load(eval_file)['prediction'])}, eval_file.replace('.xlsx', '_said.json'))
                return {'loud': float(np.mean([p.isupper() for p in load(eval_file)['prediction']]))}
    """
    models = "def loud(text):\n    return text.upper()\n\n\ndef same(text):\n    return text\n"
    one, two = file("one.py", models), file("two.py", models)

    result = assay.run(
        file("judged.py", source),
        model=[f"{one}:loud", f"{one}:same", f"{two}:same"],
        output=str(tmp_path / "run"),
    )
    again = score(result.folder)

    assert (
        [row.value for row in result] == [row.value for row in again] == [1.0, 0.0, 0.0]
    )
    made = sorted(
        path.name for path in (tmp_path / "run" / "vlmeval").glob("*_said.json")
    )
    assert len(made) == 3
    assert "loud_Judged_said.json" in made


KILLED = """
    from vlmeval.smp import *
    from vlmeval.dataset import ImageBaseDataset
    from vlmeval.dataset.utils import build_judge

    class Judged(ImageBaseDataset):
        DATASET_URL = {'Judged': ''}
        def build_prompt(self, line):
            return [dict(type='text', value=line['question'])]
        def evaluate(self, eval_file, **judge_kwargs):
            judge = build_judge(**judge_kwargs)
            answers = []
            for p in load(eval_file)['prediction']:
                answers.append(judge.generate(f'Is {p} right?'))
                if not osp.exists('go-on') and len(answers) == 2:
                    os._exit(9)
            return {'yes': float(np.mean([a == 'yes' for a in answers]))}
"""


def test_answers_of_the_judge_are_journaled_and_survive_a_kill_during_evaluate(
    table, file, tmp_path
):
    import subprocess
    import sys

    from assay.cli.main import main
    from assay.store import RunReader

    table(
        "Judged",
        "index question answer",
        [[n, word, "x"] for n, word in enumerate("abcd")],
    )
    judge = """
        def judge(text):
            with open('asked.txt', 'a') as log:
                log.write(text + '\\n')
            return 'yes' if 'A' in text else 'no'
    """
    model = file("m.py", "def answer(text):\n    return text.upper()\n") + ":answer"
    command = ["run", file("judged.py", KILLED), "--model", model]
    command += ["--judge", file("judge.py", judge) + ":judge", "-o", "run"]

    killed = subprocess.run(
        [sys.executable, "-m", "assay.cli.main", *command],
        capture_output=True,
        check=False,
    )
    (tmp_path / "go-on").touch()
    done = main(command)

    assert (killed.returncode, done) == (9, 0)
    assert sorted((tmp_path / "asked.txt").read_text().split("\n")[:-1]) == [
        f"Is {w} right?" for w in "ABCD"
    ]
    cells = RunReader(tmp_path / "run").index.cells
    assert [task for task, _ in cells if "#" in task] == ["Judged#judge"]
    assert not list((tmp_path / "run").rglob("*judge.jsonl"))


def test_a_script_of_its_own_asks_the_judge_it_names(
    file, endpoint, monkeypatch, capsys
):
    from assay.cli.python import command

    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    endpoint.answer = lambda body: (
        body["messages"][0]["content"] + " / " + body["model"]
    )
    script = file(
        "script.py",
        """
        from vlmeval.dataset.utils.judge_util import build_judge

        judge = build_judge(model='gpt-4o-mini', system_prompt='Be brief.', temperature=0)
        print(judge.generate('Hello?'))
        print(judge.generate_inner('Hello?'))
        """,
    )

    assert command([script]) == 0
    assert capsys.readouterr().out.split("\n")[:2] == [
        "Be brief. / gpt-4o-mini",
        "(0, 'Be brief. / gpt-4o-mini', '')",
    ]


IDLE = """
    from vlmeval.utils.data_util import TSVDataset

    class Own(TSVDataset):
        {declared}

        def build_prompt(self, line, dataset=None):
            return dict(image=None, text='own ' + line['question'])
"""


@pytest.mark.parametrize("reference", ["Mine", "LMUData/Mine.tsv"])
def test_a_registered_class_without_a_dataset_is_reported_as_unused(
    table, file, run, picture, early_model, reference
):
    table("Mine", "index question answer image", [[0, "a", "x", picture(1)]])
    source = file("own.py", IDLE.format(declared="pass"))

    with pytest.warns(
        UserWarning,
        match=r"own.py: class Own names no dataset and is not used; fix: .*own.py:Own@Mine",
    ):
        run(reference, early_model({1: "x"}), register=(source,), dialect="vlmeval")


def test_a_registered_class_of_another_dataset_is_not_reported(
    table, file, run, picture, early_model, recwarn
):
    table("Mine", "index question answer image", [[0, "a", "x", picture(1)]])
    source = file("own.py", IDLE.format(declared="DATASET_URL = {'Other': ''}"))

    run("Mine", early_model({1: "x"}), register=(source,), dialect="vlmeval")

    assert [
        str(warning.message)
        for warning in recwarn
        if "names no dataset" in str(warning.message)
    ] == []


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("'fine'", "evaluate returned no numbers: 'fine'"),
        ("{'a': float('nan'), 'b': 1}", "evaluate returned nan for 'a'"),
        ("{'a': {'b': float('inf')}}", "evaluate returned inf for 'a.b'"),
    ],
)
def test_what_evaluate_returned_instead_of_a_number_is_explained_with_file_and_line(
    table, picture, file, run, early_model, returned, message
):
    table("Odd", "index image question answer", [[0, picture(0), "Q", "x"]])
    source = f"""
        from vlmeval.dataset import ImageBaseDataset

        class Odd(ImageBaseDataset):
            TYPE = 'VQA'
            DATASET_URL = {{'Odd': ''}}

            def evaluate(self, eval_file, **judge_kwargs):
                return {returned}
    """

    with pytest.warns(UserWarning, match=re.escape(f"Odd, odd.py:8: {message}")):
        run(file("odd.py", source), early_model({0: "x"}))
