"""Dataset classes: their data, their judges, and how much of a table is held in memory."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from assay.core import AssayError, UsageError
from assay.dialects.vlmeval.loading import load_guest

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


def test_rows_are_passed_one_by_one_as_long_as_nobody_looks_at_the_frame(table, picture, file, run, early_model):
    table("Lazy", "index image question width answer", [[n, picture(0), "Q", 1.5, "x"] for n in range(3)])
    path = lazy(file)
    model = file("m.py", "class M:\n    def generate(self, image_path, prompt, dataset=None):\n        return 'x'\n")

    result = run(path, f"{model}:M")

    assert result.value("exact_match") == 1.0
    assert set(load_guest(path).Lazy.SEEN) == {(False, "int", "float")}


def test_the_frame_has_references_and_lists_resolved_and_rows_without_pictures_dropped(table, picture, file):
    both = f"['{picture(1)}', '{picture(2)}']"
    rows = [[0, picture(0), "a"], [1, "0", "b"], [2, both, "c"], [3, "", "d"]]
    table("Lazy", "index image question", rows)

    frame = load_guest(lazy(file)).Lazy("Lazy").data

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


def test_a_first_row_without_its_picture_is_counted_and_does_not_stop_the_plan(table, picture, file, early_model, run):
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
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.body = f"index\timage\tquestion\twidth\tanswer\n0\t{picture(0)}\tQ\t2.5\tx\n".encode()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_declared_tsv_is_brought_on_first_use_and_checked_afterwards(served, file, run, lmu):
    model = file("m.py", "class M:\n    def generate(self, image_path, prompt, dataset=None):\n        return 'x'\n")
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


def test_a_tsv_that_is_nowhere_says_where_it_was_looked_for(file, run, lmu):
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
    assert sorted((tmp_path / "asked.txt").read_text().splitlines()) == ["Is A right?", "Is B right?"]


def test_an_evaluate_that_asks_a_judge_nobody_gave_says_so(table, file, run):
    table("Judged", "index question answer", [[0, "a", "x"]])
    model = file("m.py", "def answer(text):\n    return text\n")

    result = run(file("judged.py", JUDGING), f"{model}:answer")

    assert any("--judge MODEL" in note for note in result.notes)
