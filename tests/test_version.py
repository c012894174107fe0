"""The version is written in two files and in the changelog."""

import re
import tomllib
from pathlib import Path

import assay

ROOT = Path(__file__).parents[1]


def test_package_and_pyproject_have_the_same_version():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

    assert tomllib.loads(text)["project"]["version"] == assay.__version__


def test_changelog_has_a_section_for_the_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    sections = re.findall(r"^## (\S+)", text, re.MULTILINE)

    assert sections[0] == "Unreleased"
    assert sections[1] == assay.__version__
