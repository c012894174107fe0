"""Components of installed packages: listed from metadata, imported when used."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.catalogue.plugins import installed_plugins
from assay.cli.main import main

CODE = """
import assay

print("imported")
sums = assay.Task("sums", dataset=[{"id": "a", "question": "2+2?", "answer": "4"}], scorers=("same_length",))

def four(messages):
    return "4"

def same_length(sample, output):
    return len(sample.target) == len(output.text)

def shout(sample):
    return sample.input.upper() + "!"

class Names:
    file_name = "names.txt"

    def write(self, reader, path, model):
        path.write_text("\\n".join(sorted({result.metric for result in reader.results})))
        return "1 list"
"""
ENTRY_POINTS = """
[assay.tasks]
plug-sums = plug_in:sums
[assay.models]
plug-four = plug_in:four
[assay.scorers]
same_length = plug_in:same_length
exact_match = plug_in:same_length
[assay.templates]
shout = plug_in:shout
[assay.exporters]
names = plug_in:Names
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Install a package with plugins, as pip does: a module, and metadata that names its entry points."""
    site = tmp_path / "site"
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.chdir(tmp_path)

    def install(package: str, code: str, entry_points: str) -> None:
        module = package.replace("-", "_")
        metadata = site / f"{module}-1.2.dist-info"
        metadata.mkdir(parents=True)
        (site / f"{module}.py").write_text(code)
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n"
        )
        (metadata / "entry_points.txt").write_text(entry_points)
        installed_plugins.cache_clear()

    yield install
    installed_plugins.cache_clear()
    for name in ("plug_in", "other_plug", "broken_plug"):
        sys.modules.pop(name, None)


@pytest.fixture
def plugin(install: Callable[..., None]) -> None:
    install("plug-in", CODE, ENTRY_POINTS)


def test_listing_names_a_plugin_and_its_package_without_importing_it(plugin, capsys):
    assert main(["ls", "scorers"]) == 0

    out = capsys.readouterr().out
    assert "same_length" in out and "from the package plug-in 1.2" in out
    assert "imported" not in out and "plug_in" not in sys.modules


def test_task_model_scorer_and_template_of_a_package_run_by_name(plugin, capsys):
    code = main(
        ["run", "plug-sums", "--model", "plug-four", "--template", "shout", "-o", "out"]
    )

    out = capsys.readouterr().out
    assert code == 0
    assert "same_length" in out and "plug-four" in out
    main(["show", "out", "--sample", "a", "--no-pager"])
    assert "2+2?!" in capsys.readouterr().out


def test_exporter_of_a_package_writes_its_file(plugin, tmp_path, capsys):
    main(["run", "plug-sums", "--model", "plug-four", "-o", "out"])

    assert main(["export", "out", "--to", "names"]) == 0
    assert (tmp_path / "out" / "names.txt").read_text() == "same_length"


def test_names_of_plugins_ignore_case_and_dashes(plugin):
    assert main(["run", "Plug_Sums", "--model", "plug_four", "-o", "out"]) == 0


def test_a_plugin_does_not_replace_a_shipped_name(plugin, tmp_path, capsys):
    (tmp_path / "rows.jsonl").write_text('{"question": "2+2?", "answer": "5"}\n')

    main(
        [
            "run",
            "rows.jsonl",
            "--model",
            "plug-four",
            "--scorer",
            "exact_match",
            "-o",
            "out",
            "--json",
        ]
    )

    assert '"value": 0.0' in capsys.readouterr().out


def test_show_says_where_a_plugin_is_defined(plugin, capsys):
    assert main(["show", "same_length"]) == 0

    assert "plug_in.py:" in capsys.readouterr().out


def test_names_that_no_one_can_use_do_not_break_the_list(plugin, install, capsys):
    names = "same_length = other_plug:same_length\nTwo Words = other_plug:same_length"
    install("other-plug", CODE, f"[assay.scorers]\n{names}")

    assert main(["ls", "scorers"]) == 0

    listed = capsys.readouterr().out
    assert "cannot be used: " in listed and "all define it" in listed
    assert "Two Words" not in listed


def test_two_packages_with_one_name_are_refused_when_it_is_used(
    plugin, install, capsys
):
    install("other-plug", CODE, "[assay.scorers]\nsame_length = other_plug:same_length")

    code = main(
        [
            "run",
            "plug-sums",
            "--model",
            "plug-four",
            "--scorer",
            "same_length",
            "-o",
            "out",
        ]
    )

    err = capsys.readouterr().err
    assert code == 2
    assert "defined by several installed packages" in err
    assert "plug-in" in err and "other-plug" in err


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import no_such_module", "No module named 'no_such_module'"),
        ("score = None", "has no attribute 'missing'"),
        ("raise SystemExit(3)", "called sys.exit(3)"),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_one_line_with_its_package(
    plugin, install, capsys, code, reason
):
    install("broken-plug", code, "[assay.scorers]\nbroken = broken_plug:missing")

    exit_code = main(
        ["run", "plug-sums", "--model", "plug-four", "--scorer", "broken", "-o", "out"]
    )

    err = capsys.readouterr().err
    assert exit_code == 1
    assert reason in err and "installed package broken-plug" in err
    assert "Traceback" not in err


def test_an_unknown_name_suggests_a_plugin(plugin, capsys):
    main(
        [
            "run",
            "plug-sums",
            "--model",
            "plug-four",
            "--scorer",
            "same_lenght",
            "-o",
            "out",
        ]
    )

    assert "did you mean 'same_length'?" in capsys.readouterr().err


def test_an_exporter_without_write_is_one_line(plugin, install, capsys):
    install("other-plug", "class Odd: pass", "[assay.exporters]\nodd = other_plug:Odd")
    main(["run", "plug-sums", "--model", "plug-four", "-o", "out"])
    capsys.readouterr()

    assert main(["export", "out", "--to", "odd"]) == 2
    assert "has no method `write`" in capsys.readouterr().err
