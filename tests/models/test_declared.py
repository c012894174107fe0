"""What shipped models say of themselves, told without loading any."""

import pytest
from each_row import each

from assay import registry
from assay.models import build_model
from assay.models.declared import AT_MOST, BY_OPTION, NOT_ASKED, declared, models_that
from assay.models.local_transformers.transformers_model import ACCEPTS


def test_a_backend_is_spelled_as_it_is_typed_and_stand_ins_are_left_out():
    names = models_that("accepts", "image")

    assert "openai/NAME" in names and "hf/PATH_OR_ID where its weights do" in names
    assert not NOT_ASKED & set(names) and "smollm2" not in names


def test_models_that_produce_images_differ_from_models_that_accept_them():
    assert "renderer" in models_that("produces", "image")
    assert "renderer" not in models_that("accepts", "image")


def test_an_endpoint_that_draws_and_speaks_by_an_option_is_named_with_it():
    assert "openai/NAME with -a api=images" in models_that("produces", "image")
    assert "openai/NAME with -a api=speech" in models_that("produces", "audio")


@pytest.mark.parametrize(
    ("name", "part", "kind"),
    [
        ("vllm", "produces", "image"),
        ("vllm", "produces", "audio"),
        ("diffusers", "produces", "audio"),
        ("diffusers", "produces", "text"),
        ("vllm", "accepts", "video"),
    ],
)
def test_a_backend_is_not_named_for_what_none_of_its_weights_can(name, part, kind):
    assert not any(
        spelled.startswith(f"{name}/") for spelled in models_that(part, kind)
    )


@pytest.mark.parametrize(("api", "kind"), [("images", "image"), ("speech", "audio")])
def test_the_option_that_is_named_makes_the_kind(monkeypatch, api, kind):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    assert BY_OPTION["openai"]["produces"][kind] == f"api={api}"

    assert kind in build_model("openai/m", {"api": api}).abilities.produces


def test_what_the_list_says_of_weights_is_what_the_code_takes():
    accepted = frozenset().union(*ACCEPTS.values())
    assert AT_MOST["hf"]["accepts"] == accepted | {"video"}
    assert AT_MOST["vllm"]["accepts"] == accepted


@each("name", registry.models.names())
def test_every_shipped_model_can_be_asked_without_being_built(name):
    said = declared(name)

    assert said.missing or (said.accepts is None) == (said.produces is None)
