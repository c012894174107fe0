"""The package as users get it: sdist and wheel are built, installed into an empty environment, and used there.

Costly: the dependencies are installed anew, which takes half a minute.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
MODULES_WITHOUT_EXTRAS = ("torch", "pandas", "xllamacpp", "pytest")
"""What an environment with nothing but assay must not have."""
pytestmark = [
    pytest.mark.costly,
    pytest.mark.xdist_group("package"),  # built and installed once
]


def done(
    *words: str | Path, cwd: Path, programs: Path | None = None, expect: int = 0
) -> str:
    """What a command prints; it must end with the expected code, and see nothing of this checkout."""
    unseen = ("PYTHONPATH", "VIRTUAL_ENV", "PIP_REQUIRE_VIRTUALENV")
    environment = {
        name: value for name, value in os.environ.items() if name not in unseen
    } | {"COLUMNS": "150"}
    if programs is not None:
        environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
    ended = subprocess.run(
        [*map(str, words)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == expect, (
        f"{words} ended with {ended.returncode}:\n{ended.stdout}\n{ended.stderr}"
    )
    return ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it."""
    pytest.importorskip(
        "build", reason="build is not installed: pip install -e '.[dev]'"
    )
    pytest.importorskip(
        "hatchling", reason="hatchling is not installed: pip install -e '.[dev]'"
    )
    folder = tmp_path_factory.mktemp("dist")
    done(
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--outdir",
        folder,
        ROOT,
        cwd=folder,
    )
    return next(folder.glob("*.tar.gz")), next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(
    built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder of programs of an environment that holds the wheel, its dependencies and nothing else."""
    folder = tmp_path_factory.mktemp("empty") / "environment"
    done(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--python",
        folder / "bin" / "python",
        "--disable-pip-version-check",
        "--quiet",
    )
    done(*pip, "install", "--no-compile", built[1], cwd=folder.parent)
    return folder / "bin"


def tracked(under: str) -> set[str]:
    """Paths that git knows below a folder."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git repository")
    listed = done("git", "-c", "safe.directory=*", "ls-files", "-z", under, cwd=ROOT)
    return {path for path in listed.split("\0") if path and (ROOT / path).exists()}


def test_the_wheel_holds_every_file_of_the_package_and_no_other(
    built: tuple[Path, Path],
):
    with zipfile.ZipFile(built[1]) as wheel:
        packed = {name for name in wheel.namelist() if ".dist-info/" not in name}

    assert packed == {path.removeprefix("src/") for path in tracked("src/assay")}
    assert {"assay/view/app/main.js", "assay/benchmarks/data/demo/ocr.jsonl"} <= packed


def test_the_sdist_holds_what_is_needed_to_build_test_and_read(
    built: tuple[Path, Path],
):
    with tarfile.open(built[0]) as sdist:
        packed = {name.partition("/")[2] for name in sdist.getnames()}

    assert tracked(".") <= packed


def test_the_command_answers_and_needs_no_extra(installed: Path, tmp_path: Path):
    assert re.fullmatch(
        r"assay \d+\.\d+\.\d+\n",
        done("assay", "--version", cwd=tmp_path, programs=installed),
    )
    assert "usage: assay VERB" in done(
        "assay", "--help", cwd=tmp_path, programs=installed
    )
    code = f"import importlib.util as u; print([m for m in {MODULES_WITHOUT_EXTRAS} if u.find_spec(m)])"
    assert done("python", "-c", code, cwd=tmp_path, programs=installed).strip() == "[]"


def test_the_readme_can_be_followed_from_its_beginning(installed: Path, tmp_path: Path):
    follow(ROOT / "README.md", installed, tmp_path)


def test_the_tutorial_can_be_followed_and_its_runs_be_inspected(
    installed: Path, tmp_path: Path
):
    follow(
        ROOT / "docs" / "tutorial.md", installed, tmp_path
    )  # runs, a comparison, a report
    done(
        "assay",
        "view",
        "runs/second",
        "--bundle",
        "site",
        cwd=tmp_path,
        programs=installed,
    )

    assert "models.py:second" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "site" / "index.html").is_file()
    assert {".js", ".css", ".json"} <= {
        file.suffix for file in (tmp_path / "site").rglob("*")
    }


def test_uvx_runs_the_quickstart_from_the_wheel(
    built: tuple[Path, Path], tmp_path: Path
):
    uvx = shutil.which("uvx")
    if uvx is None:
        pytest.skip("uv is not installed: pip install uv")
    quickstart = ("assay", "run", "quickstart", "--model", "scripted", "-o", "first")

    said = done(
        uvx, "--python", sys.executable, "--from", built[1], *quickstart, cwd=tmp_path
    )

    assert "complete: first" in said
    assert (tmp_path / "first" / "summary.json").is_file()


def follow(page: Path, programs: Path, folder: Path) -> None:
    """Writes the files of a page and types its commands; they must print what stands below them."""
    docs = page_reader()
    for block in docs.blocks_of(page):
        if block.is_run and block.file is not None:
            (folder / block.file).write_text(
                re.sub(r"\A# file: .*\n", "", block.text), encoding="utf-8"
            )
        elif block.is_run and block.language in ("bash", "console"):
            for words, below in block.commands():
                said = done(
                    *words, cwd=folder, programs=programs, expect=block.exit_code
                )
                assert not below or docs.agrees(below, said.splitlines()), (
                    f"{block.place} prints:\n{said}"
                )


def page_reader() -> ModuleType:
    """`tests/docs/test_docs.py`, which knows how blocks are marked."""
    spec = importlib.util.spec_from_file_location(
        "page_reader", ROOT / "tests" / "docs" / "test_docs.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
