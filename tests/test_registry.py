"""Registries: lazy targets, loud collisions, the nearest name."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import assay
from assay.core import NameTaken, UnknownName, UsageError
from assay.registry import Registry, scorers, tasks


def make():
    return Registry("scorer", {"squeeze": ("zlib:compress", "makes bytes smaller")})


def test_a_target_is_imported_only_when_asked_for():
    code = (
        "import sys\nfrom assay.registry import Registry\n"
        "r = Registry('thing', {'odd': ('colorsys:rgb_to_hsv', '')})\n"
        "assert r.names() == ['odd'] and r.summary('odd') == '' and 'colorsys' not in sys.modules\n"
        "r.get('odd')\nassert 'colorsys' in sys.modules\n"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("mmlu_pro@cot", "mmlu_pro_cot"),
        ("mme@upstream", "mme_upstream"),
        ("MME@Upstream", "mme_upstream"),
    ],
)
def test_a_variant_may_be_written_with_an_at_sign(written, name):
    assert tasks.resolve(written) == name
    assert tasks.resolve("mme@nothing") is None


def test_two_things_under_one_name_are_an_error_that_names_both_places():
    registry = make()

    @registry.register("mine")
    def one(sample, output):
        return 1.0

    with pytest.raises(
        NameTaken,
        match=r"'mine' is defined twice: .*test_registry\.py:\d+ and .*test_registry\.py",
    ):

        @registry.register("mine")
        def other(sample, output):
            return 0.0


def test_registering_the_same_thing_again_is_fine_and_returns_it_untouched():
    registry = make()

    def score(sample, output):
        """One line.

        More.
        """

    assert registry.register("s")(score) is score
    assert registry.register("s")(score) is score
    assert registry.summary("s") == "One line."


def test_a_shipped_name_cannot_be_taken_over():
    with pytest.raises(NameTaken, match="'squeeze' is defined twice"):
        make().register("squeeze")(lambda sample, output: 1.0)


def test_names_forgive_case_and_dashes_and_a_typo_gets_the_nearest():
    registry = make()

    assert registry.resolve("SQUEEZE") == "squeeze" and "Squeeze" in registry
    with pytest.raises(UnknownName, match="did you mean 'squeeze'"):
        registry.get("squeze")


def test_where_says_file_and_line():
    assert scorers.where("exact_match").rpartition(":")[0].endswith("match.py")


def test_a_class_is_built_from_its_options_and_wrong_ones_are_named():
    registry = make()

    @registry.register("sized")
    @dataclass(frozen=True)
    class Sized:
        size: int
        unit: str = "m"

    assert registry.build({"sized": {"size": 3}}) == Sized(3)
    with pytest.raises(
        UsageError, match=r"'sized' has no option 'sise'; fix: did you mean 'size'"
    ):
        registry.build({"sized": {"sise": 3}})
    with pytest.raises(UsageError, match="'sized' needs the option 'size'"):
        registry.build("sized")


def test_a_function_takes_its_options_as_keywords():
    registry = make()

    @registry.register("above")
    def above(sample, output, limit=1):
        return output > limit

    assert registry.build({"above": {"limit": 5}})(None, 6) is True
    assert registry.build("above") is above


def test_no_name_is_registered_in_two_places_of_the_package():
    marks = re.compile(r"^@(\w+)\.register\(\"([^\"]+)\"", re.MULTILINE)
    places: dict[tuple[str, str], list[str]] = {}
    for file in sorted(Path(assay.__file__).parent.rglob("*.py")):
        for mark in marks.findall(file.read_text(encoding="utf-8")):
            places.setdefault(mark, []).append(file.name)

    assert len(places) > 50
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
