"""What shipped models say of themselves, told without loading any."""

import pytest

from assay import registry
from assay.models.declared import NOT_ASKED, declared, models_that


def test_a_backend_is_spelled_as_it_is_typed_and_stand_ins_are_left_out():
    names = models_that("accepts", "image")

    assert "openai/NAME" in names and "hf/PATH_OR_ID where its weights do" in names
    assert not NOT_ASKED & set(names) and "smollm2" not in names


def test_what_makes_pictures_is_told_apart_from_what_takes_them():
    assert "renderer" in models_that("produces", "image")
    assert "renderer" not in models_that("accepts", "image")


@pytest.mark.parametrize("name", registry.models.names())
def test_every_shipped_model_can_be_asked_without_being_built(name):
    said = declared(name)

    assert said.missing or (said.accepts is None) == (said.produces is None)
