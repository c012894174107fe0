"""The app's files: small, plain, and without a way to turn text into markup."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from assay.view.saved_pages import APP, folder_page, inline_script, single_page

FILES = sorted(path for path in APP.iterdir() if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
SINKS = (
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
    "new Function",
    "DOMParser",
    "createContextualFragment",
    "srcdoc",
    "setAttributeNS",
    "importScripts",
    "parseFromString",
)


def test_the_app_is_at_most_200_kilobytes():
    assert sum(path.stat().st_size for path in FILES) <= 200_000


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_script_can_make_markup_of_text(path: Path):
    text = path.read_text("utf-8")

    assert [sink for sink in SINKS if sink in text] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_is_loaded_from_another_host(path: Path):
    addresses = re.findall(r"(?:https?:)?//[\w.-]+\.\w+", path.read_text("utf-8"))

    assert [address for address in addresses if "www.w3.org" not in address] == []


def test_the_page_has_no_inline_script_or_style():
    page = (APP / "index.html").read_text("utf-8")

    assert (
        re.findall(r"<script(?![^>]*src=)", page) == []
        and "<style" not in page
        and " style=" not in page
    )
    assert re.findall(r"\son\w+=", page) == []


def test_all_modules_are_in_the_inline_script_once_and_none_is_imported_any_more():
    script = inline_script()

    assert {path.stem for path in SCRIPTS} == set(
        re.findall(r"^const module_(\w+) = ", script, re.MULTILINE)
    )
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)


def test_the_data_of_a_report_cannot_end_its_element():
    page = single_page(
        {"a": "</script><script>alert(1)</script> \u2028"}, "</title><script>"
    )

    assert page.count("<script") == 2
    assert "<title>&lt;/title&gt;&lt;script&gt;</title>" in page


def test_a_report_allows_its_own_script_and_style_by_digest_and_nothing_else():
    policy = re.search(
        r'Content-Security-Policy" content="([^"]*)"', single_page({}, "x")
    )

    assert policy is not None
    assert (
        "connect-src 'none'" in policy[1]
        and "'unsafe" not in policy[1]
        and policy[1].count("'sha256-") == 2
    )
    assert "'self'" not in policy[1]


def test_the_page_of_a_bundle_says_its_policy_itself():
    assert (
        "default-src 'none'; script-src 'self'" in folder_page()
        and 'name="assay-bundle"' in folder_page()
    )


@pytest.mark.costly
def test_the_types_of_the_scripts_hold():
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("no node here: types of the app are checked where there is one")
    settings = Path(__file__).parent / "jsconfig.json"
    command = [npx, "--yes", "-p", "typescript@5.9", "tsc", "-p", str(settings)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=240, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip("npm does not answer")
    if "npm error" in done.stderr.lower() or "npm err!" in done.stderr.lower():
        pytest.skip(
            f"typescript cannot be had here: {done.stderr.strip().splitlines()[-1][:200]}"
        )

    assert (done.stdout, done.returncode) == ("", 0)
