"""A user's dataset class and model class through `assay.run`, unchanged."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import assay
from assay.cli.main import main
from assay.core import PlanError, UsageError
from assay.store import RunReader


def values(result) -> dict[str, float | None]:
    return {row.metric: row.value for row in result}


def test_a_dataset_class_and_a_model_with_only_generate_inner_run_unchanged(place):
    dataset, model = place.colours()

    result = assay.run(dataset, model, output="run")

    assert result.status == "complete"
    assert values(result) == {
        "images": 1.0,
        "evaluate.ball": 1.0,
        "evaluate.tree": 1.0,
        "evaluate.sky": 0.5,
        "evaluate.overall": 0.75,
    }
    assert place.calls() == [
        f"ColourBench: {p}"
        for p in ("a red ball", "a green tree", "the blue sky", "something")
    ]


def test_the_prediction_of_every_row_is_a_list_of_images_and_the_index_is_text(place):
    place.colours()
    dataset = place.write(
        "seen.py",
        (place.folder / "my_dataset.py").read_text().partition("    def evaluate")[0]
        + """
    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        assert eval_file.endswith('Painter_ColourBench.pkl'), eval_file
        assert list(data['index']) == ['1', '2', '3', '4']
        assert list(data.columns) == ['index', 'prompt', 'answer', 'category', 'prediction']
        for images in data['prediction']:
            assert isinstance(images, list) and len(images) == 2
            assert all(isinstance(image, Image.Image) for image in images)
            assert images[0] is images[0] and images[-1].size == (8, 8)
        return {'rows_seen': len(data), 'judge': judge_kwargs.get('model'), 'nproc': judge_kwargs['nproc']}
""",
    )

    result = assay.run(
        dataset,
        str(place.folder / "my_model.py:Painter"),
        output="run",
        generation={"n": 2},
    )

    assert values(result)["evaluate.rows_seen"] == 4
    assert values(result)["evaluate.nproc"] == 4


@pytest.mark.parametrize("hook", ["batch_generation_inner", "batch_generate_inner"])
def test_either_spelling_of_the_batch_hook_is_called_once_per_prompt(place, hook):
    dataset, _ = place.colours()
    model = place.write(
        "batch.py",
        f"""
        from PIL import Image
        from ulmeval.ulm.base import BaseModel

        class Batch(BaseModel):
            def generate_inner(self, message, dataset=None):
                raise AssertionError('the hook is there')

            def {hook}(self, message, dataset, num_generations):
                with open('hook.log', 'a') as log:
                    log.write(f'{{num_generations}} {{message[0]["value"]}}\\n')
                return [Image.new('RGB', (8, 8), (n, 0, 0)) for n in range(num_generations)]
        """,
    )

    result = assay.run(dataset, f"{model}:Batch", output="run", generation={"n": 3})

    assert values(result)["images"] == 3.0
    asked = Path("hook.log").read_text().split("\n")[:-1]
    assert asked == ["3 a red ball", "3 a green tree", "3 the blue sky", "3 something"]


def test_a_class_that_declares_num_generations_gets_them_by_default(place):
    dataset, model = place.colours()
    text = (
        Path(dataset)
        .read_text()
        .replace("TYPE = 'T2I'", "TYPE = 'T2I'\n    NUM_GENERATIONS = 4")
    )
    dataset = place.write("elsewhere/four.py", text)

    result = assay.run(dataset, model, output="run")

    assert values(result)["images"] == 4.0


def test_images_are_ordinary_files_in_the_run_and_nothing_is_pickled(place):
    dataset, model = place.colours()

    assay.run(dataset, model, output="run")

    files = [path for path in Path("run").rglob("*") if path.is_file()]
    assert not [path for path in files if path.suffix == ".pkl"]
    pictures = [path for path in files if path.suffix == ".png"]
    assert len(pictures) == 3  # two red answers are the same bytes
    assert (
        Path("run/files/Painter_ColourBench_score.csv")
        .read_text()
        .startswith("ball,tree,sky,overall\n")
    )


def test_the_same_command_again_asks_nothing_and_an_edited_evaluate_scores_anew(place):
    dataset, model = place.colours()
    assay.run(dataset, model, output="run")
    place.write(
        "my_dataset.py",
        Path(dataset).read_text().replace("result['overall'] =", "result['all'] ="),
    )

    again = assay.run(dataset, model, output="run")

    assert "evaluate.all" in values(again)
    assert len(place.calls()) == 4


def test_a_run_is_scored_elsewhere_from_its_folder_alone(place):
    dataset, model = place.colours()
    here = assay.run(dataset, model, output="run")
    shutil.copytree(
        "run", "copied", ignore=shutil.ignore_patterns("summary.json", "files")
    )
    Path("my_model.py").unlink()
    (place.data / "ColourBench.tsv").unlink()

    there = assay.score("copied")

    assert values(there) == values(here)


def test_a_changed_table_is_seen_and_only_changed_prompts_are_asked(place):
    dataset, model = place.colours()
    assay.run(dataset, model, output="run")
    table = place.data / "ColourBench.tsv"
    table.write_text(table.read_text().replace("something", "something blue"))

    result = assay.run(dataset, model, output="run")

    assert values(result)["evaluate.overall"] == 1.0
    assert Counter(place.calls())["ColourBench: a red ball"] == 1
    assert place.calls()[-1] == "ColourBench: something blue"


def test_a_row_the_model_fails_on_is_counted_and_asked_again_next_time(place):
    dataset, model = place.colours()
    table = place.data / "ColourBench.tsv"
    table.write_text(table.read_text().replace("something", "nothing"))

    result = assay.run(dataset, model, output="run", on_error="continue")

    assert result.status == "partial"
    drawn = next(row for row in result if row.metric == "images")
    assert (drawn.n, drawn.n_expected) == (3, 4)
    assert drawn.outcomes["model_error"] == 1
    assert any("no paint left" in note for note in result.notes)
    evaluated = next(row for row in result if row.metric == "evaluate.overall")
    assert (evaluated.value, evaluated.n, evaluated.n_expected) == (1.0, 3, 4)


def test_a_row_that_build_prompt_cannot_handle_is_a_counted_failure_of_that_row(place):
    _, model = place.colours()
    broken = place.write(
        "broken.py",
        (place.folder / "my_dataset.py")
        .read_text()
        .replace(
            "question = line['prompt']",
            "question = {'ball': 'a red ball'}[line['category']]",
        ),
    )

    result = assay.run(broken, model, output="run")

    assert result.status == "partial"
    drawn = next(row for row in result if row.metric == "images")
    assert drawn.outcomes["data_error"] == 3
    assert place.calls() == ["ColourBench: a red ball"]


def test_a_malformed_row_of_the_table_is_a_counted_failure_of_that_row(place):
    dataset, model = place.colours()
    with (place.data / "ColourBench.tsv").open("a") as table:
        table.write("5\tonly two cells\n")

    result = assay.run(dataset, model, output="run")

    drawn = next(row for row in result if row.metric == "images")
    assert (drawn.n, drawn.n_expected, drawn.outcomes["data_error"]) == (4, 5, 1)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (
            "'a red ball'",
            "Odd.generate_inner returned 'a red ball', expected a PIL image",
        ),
        ("None", "Odd.generate_inner returned None, expected a PIL image"),
    ],
)
def test_a_model_that_returns_no_image_is_named(place, returned, said):
    dataset, _ = place.colours()
    model = place.write(
        "odd.py",
        f"""
        from ulmeval.ulm.base import BaseModel
        class Odd(BaseModel):
            def generate_inner(self, message, dataset=None):
                return {returned}
        """,
    )

    result = assay.run(dataset, f"{model}:Odd", output="run", on_error="continue")

    assert any(said in note for note in result.notes)


def test_a_batch_hook_that_draws_too_few_is_named(place):
    dataset, _ = place.colours()
    model = place.write(
        "few.py",
        """
        from PIL import Image
        from ulmeval.ulm.base import BaseModel
        class Few(BaseModel):
            def batch_generate_inner(self, message, dataset, num_generations):
                return [Image.new('RGB', (8, 8))]
        """,
    )

    result = assay.run(
        dataset, f"{model}:Few", output="run", generation={"n": 2}, on_error="continue"
    )

    assert any(
        "Few.batch_generate_inner returned 1 images for num_generations=2" in note
        for note in result.notes
    )


def test_a_model_uses_its_own_prompt_only_for_datasets_it_declares(place):
    dataset, _ = place.colours()
    model = place.write(
        "own.py",
        """
        from PIL import Image
        from ulmeval.ulm.base import BaseModel
        class Own(BaseModel):
            def use_custom_prompt(self, dataset):
                return dataset == 'ColourBench'
            def build_prompt(self, line, dataset):
                return [dict(type='text', value=f"paint {line['answer']}")]
            def generate_inner(self, message, dataset=None):
                return Image.new('RGB', (8, 8), message[0]['value'].split()[1])
        """,
    )

    result = assay.run(dataset, f"{model}:Own", output="run")

    assert values(result)["evaluate.overall"] == 1.0
    first = next(iter(RunReader("run").outputs()))
    assert first.prompt[0]["content"] == "paint red"
    assert first.details["built_by"] == "model"


def test_images_do_not_depend_on_what_was_drawn_before(place):
    dataset, _ = place.colours()
    model = place.write(
        "noise.py",
        """
        import random
        from PIL import Image
        from ulmeval.ulm.base import BaseModel
        class Noise(BaseModel):
            def generate_inner(self, message, dataset=None):
                return Image.new('RGB', (8, 8), tuple(random.randrange(256) for _ in range(3)))
        """,
    )

    assay.run(dataset, f"{model}:Noise", output="all", generation={"n": 2})
    assay.run(dataset, f"{model}:Noise", output="last", generation={"n": 2}, ids=("3",))

    drawn = {
        r.id: json.dumps(r.output["candidates"]) for r in RunReader("all").outputs()
    }
    alone = {
        r.id: json.dumps(r.output["candidates"]) for r in RunReader("last").outputs()
    }
    assert alone["3"] == drawn["3"]
    assert len({*drawn.values()}) == 4
    first, second = json.loads(drawn["3"])
    assert first != second


def test_an_api_class_is_tried_again_and_keeps_the_images_it_already_has(
    place, monkeypatch
):
    monkeypatch.setattr("assay.runner.ask.retry.RetryPolicy.delay", lambda *_: 0.0)
    dataset, _ = place.colours()
    model = place.write(
        "api.py",
        """
        from PIL import Image
        from ulmeval.api.base import BaseAPI
        class Flaky(BaseAPI):
            is_api = True
            calls = []
            def generate_inner(self, inputs, **kwargs):
                Flaky.calls.append(inputs[0]['value'])
                open('api.log', 'a').write(inputs[0]['value'] + '\\n')
                if len(Flaky.calls) == 2:
                    return -1, None, 'busy'
                return 0, Image.new('RGB', (8, 8), 'red'), 'ok'
        """,
    )

    result = assay.run(
        dataset,
        f"{model}:Flaky",
        output="run",
        generation={"n": 2},
        concurrency=1,
        ids=("1",),
    )

    assert values(result)["images"] == 2.0
    assert Path("api.log").read_text().split("\n")[:-1] == ["a red ball"] * 3


def test_data_names_another_table_for_the_same_class(place):
    dataset, model = place.colours()
    table = place.write(
        "other.tsv", "index\tprompt\tanswer\tcategory\n7\tblue\tblue\tsky\n"
    )

    result = assay.run(dataset, model, output="run", data=table)

    assert place.calls() == ["ColourBench: blue"]
    assert values(result)["evaluate.overall"] == 1.0


def test_a_class_that_reads_its_own_data_cannot_be_given_others(place):
    _, model = place.colours()
    own = place.write(
        "own_data.py",
        """
        import pandas as pd
        from ulmeval.dataset.text_base import TextBaseDataset
        class Own(TextBaseDataset):
            DATASET_URL = {'Own': ''}
            def load_data(self, dataset):
                return pd.DataFrame({'index': [1], 'question': ['red']})
        """,
    )
    table = place.write("other.tsv", "index\tquestion\n7\tblue\n")

    with pytest.raises(UsageError, match="--data cannot replace"):
        assay.run(own, model, output="run", data=table)
    assert assay.run(own, model, output="run").status == "complete"


def test_a_file_without_a_dataset_class_says_what_it_has(place):
    _, model = place.colours()

    with pytest.raises((UsageError, PlanError), match="defines no dataset class"):
        assay.run(model.rpartition(":")[0], model, output="run")


def test_an_unknown_dataset_in_a_file_is_answered_with_the_nearest(place):
    dataset, model = place.colours()

    with pytest.raises((UsageError, PlanError), match="did you mean 'ColourBench'"):
        assay.run(f"{dataset}:ColorBench", model, output="run")


def test_a_class_without_evaluate_is_only_drawn_for(place):
    _, model = place.colours()
    bare = place.write(
        "bare.py",
        """
        from ulmeval.dataset import TextBaseDataset
        class Bare(TextBaseDataset):
            DATASET_URL = {'ColourBench': ''}
        """,
    )

    result = assay.run(bare, model, output="run")

    assert values(result) == {"images": 1.0}


def test_an_evaluate_that_opens_its_file_itself_gets_a_temporary_one(place):
    place.colours()
    _, model = place.colours()
    opens = place.write(
        "opens.py",
        (place.folder / "my_dataset.py")
        .read_text()
        .replace("load(eval_file)", "pd.read_pickle(eval_file)"),
    )

    result = assay.run(opens, model, output="run")

    assert values(result)["evaluate.overall"] == 0.75
    assert not list(Path("run").rglob("*.pkl"))


def test_an_index_with_an_underscore_is_one_index_for_an_api_too(place):
    (place.data / "Plain.tsv").write_text("index\tquestion\na_1\tred\na_2\tblue\n")
    dataset = place.write(
        "plain.py",
        """
        from ulmeval.dataset.text_base import TextBaseDataset
        from ulmeval.smp import *
        class Plain(TextBaseDataset):
            NUM_GENERATIONS = 2
            DATASET_URL = {'Plain': ''}
            def evaluate(self, eval_file, **judge_kwargs):
                data = load(eval_file)
                return {k: sum(i.getpixel((0, 0))[2] for i in v) for k, v in zip(data['index'], data['prediction'])}
        """,
    )
    model = place.write(
        "plain_api.py",
        """
        from PIL import Image
        from ulmeval.api.base import BaseAPI
        class Api(BaseAPI):
            def generate_inner(self, inputs, **kwargs):
                return 0, Image.new('RGB', (4, 4), inputs[0]['value']), 'ok'
        """,
    )

    result = assay.run(dataset, f"{model}:Api", output="run")

    assert values(result) == {"images": 2.0, "evaluate.a_1": 0.0, "evaluate.a_2": 510.0}


def test_a_repeated_index_is_a_counted_failure_of_the_later_row(place):
    dataset, model = place.colours()
    with (place.data / "ColourBench.tsv").open("a") as table:
        table.write("1\tred again\tred\tball\n")

    result = assay.run(dataset, model, output="run")

    drawn = next(row for row in result if row.metric == "images")
    assert (drawn.n, drawn.outcomes["data_error"]) == (4, 1)
    assert len(place.calls()) == 4


def test_a_kill_between_prompts_repeats_nothing_that_was_drawn(place):
    dataset, _ = place.colours()
    model = place.write(
        "mortal.py",
        """
        import os
        from PIL import Image
        from ulmeval.ulm.base import BaseModel
        class Mortal(BaseModel):
            def generate_inner(self, message, dataset=None):
                with open('mortal.log', 'a') as log:
                    log.write(message[0]['value'] + '\\n')
                if 'blue' in message[0]['value'] and not os.path.exists('died'):
                    open('died', 'w').close()
                    os._exit(9)
                return Image.new('RGB', (8, 8), 'red')
        """,
    )
    command = ["run", dataset, "--model", f"{model}:Mortal", "-o", "run", "-b", "1"]

    first = subprocess.run(
        [sys.executable, "-m", "assay.cli.main", *command],
        capture_output=True,
        check=False,
    )
    second = main(command)

    assert (first.returncode, second) == (9, 0)
    assert Counter(Path("mortal.log").read_text().split("\n")[:-1]) == {
        "a red ball": 1,
        "a green tree": 1,
        "the blue sky": 2,
        "something": 1,
    }
