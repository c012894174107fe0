"""Which `src.…` is ours and which is the user's: in files, in scripts, in notebooks."""

import subprocess
import sys
from pathlib import Path

import pytest

from assay.core import MissingExtra, UsageError
from assay.dialects.guest import Guest
from assay.dialects.televal.claims import NAMES


def guest(project):
    return Guest("televal", NAMES, project.root)


def test_ours_serves_the_documents_names_and_the_user_every_other(project):
    project.write(
        "src/models/mine.py",
        "from src.models.echo import Echo\nfrom .echo import Echo as Same\nfrom . import echo\n",
    )

    made = guest(project).load(project.root / "src/models/mine.py")

    assert made.Echo is made.Same is made.echo.Echo
    assert (
        made.Echo.__mro__[1].__module__ == "assay.dialects.televal.televal_model_bases"
    )


def test_ours_wins_over_a_users_file_of_that_name_and_lends_it_what_it_lacks(project):
    project.write(
        "src/dataset.py", "class BatchLoader:\n    pass\n\nclass Mine:\n    pass\n"
    )
    project.write(
        "src/use.py",
        "from src.dataset import BatchLoader, Mine\nimport src.dataset\nAGAIN = src.dataset.Mine\n",
    )

    made = guest(project).load(project.root / "src/use.py")

    assert made.BatchLoader.__module__ == "assay.dialects.televal.facade.dataset"
    assert made.AGAIN is made.Mine


def test_plain_imports_of_several_modules_share_one_package(project):
    project.write(
        "src/use.py",
        "import src.models.echo\nimport src.utils\nimport src.evaluator.base as base\nFOUND = src.models.echo.Echo, src.utils.parallel_batch\n",  # noqa: E501
    )

    made = guest(project).load(project.root / "src/use.py")

    assert made.FOUND[0].__name__ == "Echo"
    assert made.base.ExistMatch.__name__ == "ExistMatch"


def test_an_unknown_name_is_an_error(project):
    project.write(
        "src/use.py",
        "try:\n    from src.utils import nothing\nexcept ImportError as error:\n    SAID = str(error)\ntry:\n    import src.nowhere\nexcept ImportError as error:\n    ALSO = str(error)\n",  # noqa: E501
    )

    made = guest(project).load(project.root / "src/use.py")

    assert (
        "the televal dialect has no" in made.SAID
        and "'nothing' in 'src.utils'" in made.SAID
    )
    assert "has no module 'src.nowhere'" in made.ALSO


def test_a_neighbour_that_fails_to_import_can_be_caught_as_in_python(project):
    project.write("src/models/heavy.py", "import a_library_nobody_has\n")
    project.write(
        "src/use.py",
        "try:\n    from src.models import heavy\nexcept ImportError:\n    heavy = None\n",
    )

    assert guest(project).load(project.root / "src/use.py").heavy is None


def test_nothing_of_it_is_seen_elsewhere_in_the_process(project):
    guest(project).load(project.root / "src/models/echo.py")

    assert not [
        name for name in sys.modules if name == "src" or name.startswith("src.")
    ]


def test_two_projects_with_files_of_one_name_do_not_meet(tmp_path):
    from .conftest import Project

    one, two = Project(tmp_path / "one"), Project(tmp_path / "two")
    two.model(
        "    def generate_once(self, audio, **kwargs):\n        return {'pred': 'no 1949'}\n"
    )

    values = [project.run("task").results[0].value for project in (one, two, one)]

    assert values == [0.5, 1.0, 0.5]


def test_a_script_written_against_the_package_runs(project):
    script = project.write(
        "script.py",
        "from src.dataset import BatchLoader\nfrom src.models.echo import Echo\nfrom src.prompt.template import DataTemplate\n"  # noqa: E501
        "template = DataTemplate([{'role': 'user', 'content': {'text': '{{query}}'}}])\n"
        "for batch in BatchLoader('data/rows.jsonl', batch_size=2):\n"
        "    inputs = [template.load(**row) for row in batch]\n"
        "    print(*[answer['pred'] for answer in Echo().inference(inputs)], sep='|')\n",
    )
    code = "import sys; from assay.cli.python import command; sys.exit(command(sys.argv[1:]))"

    done = subprocess.run(
        [sys.executable, "-c", code, "--dialect", "televal", str(script)],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "echo is it 1949?|echo null\n", done.stderr


def test_in_a_notebook_the_names_are_importable_until_they_are_disabled(project):
    cells = (
        "import assay.dialects\nassay.dialects.enable('televal')\n"
        "from src.models.base import Model\nimport src.summarizer\nfrom src.models.echo import Echo\n"
        "print(Model.__module__, src.summarizer.AvgInfo().statistic([1]))\n"
        "assay.dialects.disable('televal')\n"
        "try:\n    import src.utils\nexcept ImportError:\n    print('gone')\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", cells],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.splitlines() == [
        "assay.dialects.televal.televal_model_bases {'score': 'AVG: 100.00%'}",
        "gone",
    ], done.stderr


def test_inference_of_the_base_class_leads_a_dialogue_like_televal(project):
    from assay.dialects.televal.televal_model_bases import Model

    class Talker(Model):
        def generate_multiturn(self, audio, user_history, assistant_history, **kwargs):
            return {"pred": f"{kwargs['user_query']} after {len(assistant_history)}"}

    turns = [
        {"role": r, "round": n, "content": {"text": f"{r}{n}"}}
        for n in "12"
        for r in "AB"
    ]
    (records,) = Talker().inference(
        [{"nrounds": 2, "dialogue": turns}], use_model_history=True
    )

    assert [record["pred"] for record in records] == ["A1 after 0", "A2 after 1"]
    assert [record["ref"] for record in records] == ["B1", "B2"]


def test_spreading_a_model_over_devices_names_what_is_missing(monkeypatch):
    from assay.dialects.televal import televal_model_bases as model_utils

    monkeypatch.setattr(model_utils.importlib, "import_module", _missing)

    with pytest.raises(
        MissingExtra, match="torch, which load_model_with_auto_device_map needs"
    ):
        model_utils.load_model_with_auto_device_map("anything")


def _missing(name):
    raise ImportError(name)


def test_spreading_a_model_over_devices_keeps_named_layers_whole(monkeypatch, tmp_path):
    from types import SimpleNamespace

    from assay.dialects.televal import televal_model_bases as model_utils

    class Layer:
        pass

    asked = []
    model = SimpleNamespace(modules=lambda: [model, Layer(), Layer()])
    auto = SimpleNamespace(
        from_pretrained=lambda name, **options: asked.append(options) or model
    )
    libraries = {
        "torch": SimpleNamespace(float16="half"),
        "accelerate": SimpleNamespace(
            infer_auto_device_map=lambda model, max_memory, no_split_module_classes: {
                "": (max_memory, no_split_module_classes)
            },
            utils=SimpleNamespace(get_balanced_memory=lambda model, dtype: "balanced"),
        ),
        "transformers": SimpleNamespace(
            AutoModelForCausalLM=auto,
            AutoTokenizer=SimpleNamespace(from_pretrained=lambda *a, **k: "tokens"),
        ),
    }
    monkeypatch.setattr(model_utils.importlib, "import_module", libraries.__getitem__)

    made = model_utils.load_model_with_auto_device_map(
        str(tmp_path), None, ["Layer"], return_tokenizer=True
    )

    assert made == (model, "tokens")
    assert asked[1] == {
        "torch_dtype": "half",
        "trust_remote_code": True,
        "device_map": {"": ("balanced", ["Layer"])},
    }
    with pytest.raises(ValueError, match="not in allowed no_split_module_classes"):
        model_utils.load_model_with_auto_device_map(str(tmp_path), None, ["Head"])
    assert Path(tmp_path).is_dir()


def test_a_class_file_with_a_syntax_error_is_reported_with_its_line(project):
    project.write("src/models/echo.py", "class Echo:\n    def broken(:\n")

    with pytest.raises(UsageError, match=r"echo.py:2: not valid Python"):
        project.televal("infer")
