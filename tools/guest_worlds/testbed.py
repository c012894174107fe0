"""The survey of an ICLTestbed checkout: loading scripts, metrics, tutorials and notebooks, where they lie.

A notebook's cells are run one after another as a script, in its own folder. Replaced are what its authors left to the
reader: paths, and the device.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.guest_worlds import testbed_data, testbed_models
from tools.guest_worlds.commands import MODEL, assay, outcome
from tools.guest_worlds.outcome import Outcome, State

CUDA = {'torch.device("cuda")': 'torch.device("cpu")'}
CAPTIONS = """
from testbed.data import register_dataset_retriever


@register_dataset_retriever("captions")
def retriever(item, is_last):
    answer = {"role": "caption"} if is_last else {"role": "caption", "content": item["caption"]}
    return [{"role": "user", "content": item["text"]}, answer]
"""


def is_checkout(folder: Path) -> bool:
    """Whether a folder is one."""
    return (folder / "testbed" / "data" / "common.py").is_file()


def survey(folder: Path) -> Iterator[Outcome]:
    """Return the outcome of every file."""
    with TemporaryDirectory() as home:
        work = Path(home)
        (work / "model.py").write_text(MODEL)
        scripts = sorted(
            place
            for place in (folder / "testbed" / "data").iterdir()
            if (place / f"{place.name}.py").exists()
        )
        yield from (_dataset(place, work) for place in scripts)
        yield from (
            _metric(file, work)
            for file in sorted((folder / "testbed" / "evaluate").glob("metrics/*/*.py"))
            if file.stem == file.parent.name
        )
        yield from (
            _notebook(folder, name, work)
            for name in NOTEBOOKS
            if (folder / name).is_file()
        )


def _dataset(place: Path, work: Path) -> Outcome:
    data = testbed_data.write(place.name, work / place.name)
    done = assay(
        "run",
        str(place),
        "--data",
        data,
        "--model",
        "model.py:generate",
        "--json",
        folder=work,
    )
    return outcome("dataset", place.name, done)


def _metric(file: Path, work: Path) -> Outcome:
    (work / "captions.py").write_text(CAPTIONS)
    rows = [
        {
            "text": f"t{at}",
            "caption": "yes",
            "answers": [{"answer": "yes"}, {"answer": "no"}, {"answer": "yes"}],
            "question_type": "is",
            "answer_type": "yes/no",
        }
        for at in range(3)
    ]
    (work / "captions.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    options = (
        "--data",
        "captions.jsonl",
        "--model",
        "model.py:generate",
        "--scorer",
        str(file.parent),
        "--json",
    )
    return outcome(
        "metric", file.stem, assay("run", "captions.py", *options, folder=work)
    )


Replace = Callable[[Path], Mapping[str, str]]


def _for_custom(work: Path) -> Mapping[str, str]:
    return {
        "/path/to/Mistral-7B": str(testbed_models.save_mistral(work)),
        "torch.float16": "torch.float32",
    }


def _for_vqa(work: Path) -> Mapping[str, str]:
    testbed_data.write("vqav2", work / "questions")
    model = str(testbed_models.save_idefics2(work))
    return {
        "path/to/vqav2/dir": str(work / "questions"),
        "path/to/mscoco": str(work / "questions"),
        "path/to/idefics2-8b-base": model,
        '"num_shots": 32': '"num_shots": 1',
    }


def _for_captions(work: Path) -> Mapping[str, str]:
    testbed_data.write("coco", work / "captions")
    model = str(testbed_models.save_idefics2(work))
    return {
        "path/to/coco/caption/dir": str(work / "captions"),
        "path/to/mscoco": str(work / "captions"),
        "path/to/idefics2-8b-base": model,
    }


def _for_llava(work: Path) -> Mapping[str, str]:
    model = str(testbed_models.save_llava(work))
    return {"/data/share/model_weight/llava/llava-interleave-qwen-7b-hf": model}


def _for_idefics(work: Path) -> Mapping[str, str]:
    return {
        "/data/share/model_weight/idefics/idefics-9b": str(
            testbed_models.save_idefics(work)
        )
    }


NOTEBOOKS: Mapping[str, Replace] = {
    "examples/tutorial_custom.ipynb": _for_custom,
    "examples/tutorial_vqa.ipynb": _for_vqa,
    "examples/tutorial_caption.ipynb": _for_captions,
    "apps/visualize_attenion_auto_reg.ipynb": _for_llava,
    "apps/visualize_attenion_cross_attn.ipynb": _for_idefics,
}


def _beside(path: Path, folder: Path, work: Path) -> Path:
    """Make a folder of links like the notebook's own, so that its cells do not write to the checkout."""
    place = work / f"of_{path.stem}" / path.parent.name
    place.mkdir(parents=True)
    for original, link in (
        (folder / "testbed", place.parent / "testbed"),
        *(
            (inner, place / inner.name)
            for inner in path.parent.iterdir()
            if inner.suffix != ".ipynb"
        ),
    ):
        link.symlink_to(original)
    return place


CELL = "print('== cell {} of {}', flush=True)\n"


def _notebook(folder: Path, name: str, work: Path) -> Outcome:
    """Run the cells of a notebook in order. If one fails, the detail names it."""
    path = folder / name
    cells = [
        cell
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]
    texts = ["".join(cell["source"]) for cell in cells]
    code = "\n".join(
        CELL.format(at, len(texts)) + text for at, text in enumerate(texts, start=1)
    )
    kind = "tutorial" if name.startswith("examples") else "notebook"
    try:
        replacements = {**CUDA, **NOTEBOOKS[name](work)}
    except Exception as error:  # noqa: BLE001 - a stand-in for weights: the other files are surveyed all the same
        detail = f"no stand-in for its model: {type(error).__name__}: {error}"
        return Outcome(kind, path.stem, State.FAILS, detail)
    for theirs, ours in replacements.items():
        code = code.replace(theirs, ours)
    place = _beside(path, folder, work)
    script = place / f"{path.stem}.py"
    script.write_text(code, encoding="utf-8")
    done = assay("python", str(script), folder=place, seconds=600)
    made = outcome(kind, path.stem, done, runs="to its last cell")
    reached = [line for line in done.stdout.splitlines() if line.startswith("== cell")]
    where = reached[-1].removeprefix("== ") if reached else "the first cell"
    return (
        made
        if made.state is State.RUNS
        else Outcome(kind, path.stem, made.state, f"{where}: {made.detail}")
    )
