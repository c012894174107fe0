"""The files behind a piece of code: what a file imports, however it says so, and what those import."""

import ast
import os
from importlib import metadata
from pathlib import Path

import pytest

from assay.code import sources
from assay.code.sources import (
    behind,
    digest_behind,
    is_users,
    names_imported,
    parsed,
    version_of,
)


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "bench.py"


def names(folder: Path, found: set[Path]) -> set[str]:
    return {path.relative_to(folder.resolve()).as_posix() for path in found}


@pytest.mark.parametrize(
    "line",
    [
        "from far_rules import LIMIT",
        "import far_rules",
        "import os, far_rules as rules",
        "from far_rules import *",
        "from far_rules import (  # (all)\n    LIMIT,\n)",
        "from far_rules \\\n    import LIMIT",
        "from .far_rules import LIMIT",
        "from . import far_rules",
        "def score(s, o):\n    from far_rules import LIMIT\n    return LIMIT",
        "x = 1; import far_rules",
        "try:\n    x\nexcept KeyError as e:\n    raise ValueError from e\nimport far_rules",
        "import importlib\nrules = importlib.import_module('far_rules')",
        "import importlib\nrules = importlib.import_module('far' + '_rules')",
        "rules = __import__('far_rules')",
    ],
)
def test_however_a_file_is_imported_it_counts(tmp_path: Path, line: str) -> None:
    bench = written(tmp_path, bench=line + "\n", far_rules="LIMIT = 2\n")
    before = digest_behind(bench)

    written(tmp_path, far_rules="LIMIT = 20\n")

    assert digest_behind(bench) != before


def test_indirectly_imported_files_count_and_unimported_ones_do_not(
    tmp_path: Path,
) -> None:
    bench = written(
        tmp_path,
        **{
            "bench": "from far_a import x\n",
            "far_a": "from far_pack.inner import y as x\n",
            "far_pack/__init__": "",
            "far_pack/inner": "from ..far_b import z as y\nfrom . import beside\n",
            "far_pack/beside": "",
            "far_b": "import far_a\nz = 1\n",
            "stranger": "x = 1\n",
        },
    )

    files, libraries = behind(bench)

    expected = {
        "bench.py",
        "far_a.py",
        "far_pack/__init__.py",
        "far_pack/inner.py",
        "far_pack/beside.py",
        "far_b.py",
    }
    assert names(tmp_path, files) == expected
    assert libraries == set()


def test_libraries_count_by_name_and_version(tmp_path: Path, monkeypatch) -> None:
    bench = written(
        tmp_path, bench="import json\nimport msgspec\nfrom assay.core import Sample\n"
    )
    before, without = digest_behind(bench), digest_behind(bench, libraries=False)

    files, libraries = behind(bench)
    monkeypatch.setattr("assay.code.sources.version_of", lambda name: "99")

    assert (names(tmp_path, files), libraries) == ({"bench.py"}, {"msgspec", "assay"})
    assert digest_behind(bench) != before
    assert digest_behind(bench, libraries=False) == without


def test_a_module_that_is_loaded_is_looked_for_where_it_was_loaded_from(
    tmp_path: Path, monkeypatch
) -> None:
    bench = written(tmp_path, bench="import far_elsewhere\n")
    written(tmp_path / "lib", far_elsewhere="LIMIT = 2\n")
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))

    assert names(tmp_path, behind(bench)[0]) == {"bench.py", "lib/far_elsewhere.py"}


def test_the_place_of_the_files_does_not_count(tmp_path: Path) -> None:
    digests = set()
    for folder in (tmp_path / "a", tmp_path / "b"):
        digests.add(
            digest_behind(
                written(
                    folder,
                    bench="from .far_rules import LIMIT\n",
                    far_rules="LIMIT = 2\n",
                )
            )
        )

    assert len(digests) == 1


def test_whose_a_file_is(tmp_path: Path) -> None:
    import json

    import msgspec

    import assay

    assert is_users(tmp_path / "bench.py")
    assert not any(is_users(module.__file__) for module in (json, msgspec, assay))
    assert version_of("msgspec") == msgspec.__version__
    assert version_of("no_such_library_anywhere") == ""


def test_of_assays_own_files_the_import_statements_say_as_much_as_the_whole_text() -> (
    None
):
    wrong = []
    for file in (Path(sources.__file__).parents[1] / "scorers").rglob("*.py"):
        whole = {
            name
            for node in ast.walk(parsed(file))
            for name in names_imported(node)
            if name.startswith(".")
        }
        names, _ = sources._imported_names(file)
        wrong += [file.name] if whole != set(names) else []

    assert not wrong


@pytest.mark.parametrize("is_link", [False, True])
def test_a_library_is_one_name_unless_it_is_a_link_to_files_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_link: bool
) -> None:
    site = tmp_path / "site-packages"
    site.mkdir()
    home = tmp_path / "mine" if is_link else site
    written(
        home,
        **{
            "far_lib/__init__": "",
            "far_lib/part": "x = 1\n",
            "far_lib/deep/__init__": "from .. import part",
        },
    )
    if is_link:
        (site / "far_lib").symlink_to(home / "far_lib")
    bench = written(tmp_path, bench="import far_lib\nfrom far_lib.deep import part\n")
    monkeypatch.syspath_prepend(site)

    files, libraries = behind(bench)

    inside = {
        f"mine/far_lib/{name}"
        for name in ("__init__.py", "part.py", "deep/__init__.py")
    }
    assert names(tmp_path, files) == {"bench.py", *(inside if is_link else ())}
    assert libraries == (set() if is_link else {"far_lib"})


def test_versions_are_those_that_python_knows() -> None:
    known = {
        about.metadata["Name"]: about.version
        for about in list(metadata.distributions())[::8]
    }

    assert {name: version_of(name) for name in known} == known


def test_a_module_of_a_library_that_is_a_link_to_a_file_of_the_user_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(
        tmp_path, **{"site-packages/near_lib/__init__": "", "mine/metric": "K = 1\n"}
    )
    (tmp_path / "site-packages/near_lib/metric.py").symlink_to(
        tmp_path / "mine/metric.py"
    )
    (tmp_path / "site-packages/near_lib/plug").symlink_to(tmp_path / "mine")
    bench = written(
        tmp_path,
        bench="from near_lib.metric import K\nfrom near_lib.plug import metric\n",
    )
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    before = digest_behind(bench)

    written(tmp_path, **{"mine/metric": "K = 22\n"})

    assert names(tmp_path, behind(bench)[0]) == {"bench.py", "mine/metric.py"}
    assert digest_behind(bench) != before


def test_two_files_of_one_name_size_and_time_are_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for folder, text in (("a", "one = 1\n"), ("b", "two = 2\n")):
        written(tmp_path / folder, bench=text)
        os.utime(tmp_path / folder / "bench.py", (315532800, 315532800))
        monkeypatch.chdir(tmp_path / folder)
        found.append(ast.unparse(parsed(Path("bench.py")) or ast.Module([], [])))

    assert found == ["one = 1", "two = 2"]


def test_the_tree_of_a_large_file_is_not_kept(tmp_path: Path) -> None:
    small, large = written(tmp_path, bench="x = 1\n"), tmp_path / "large.py"
    large.write_text("x = [\n" + "    1,\n" * (sources.LARGEST_KEPT // 7 + 1) + "]\n")

    assert parsed(small) is parsed(small)
    assert parsed(large) is not parsed(large) is not None


def test_a_library_in_a_folder_of_pip_install_target_is_one_name_beside_files_of_the_user(
    tmp_path: Path, monkeypatch
) -> None:
    bench = written(
        tmp_path,
        bench="import fast_maths\nimport my_rules\n",
        my_rules="LIMIT = 2\n",
    )
    written(tmp_path / "fast_maths", __init__="from . import inner\n", inner="")
    written(tmp_path, **{"fast_maths-1.5.dist-info/x": ""})
    record = "fast_maths/__init__.py,,\nfast_maths/inner.py,,\n"
    (tmp_path / "fast_maths-1.5.dist-info" / "RECORD").write_text(record)
    monkeypatch.syspath_prepend(str(tmp_path))

    files, libraries = behind(bench)

    assert names(tmp_path, files) == {"bench.py", "my_rules.py"}
    assert libraries == {"fast_maths"}
