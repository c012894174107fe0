"""Base64 by the fast decoder: the same bytes as the slow one, and the same refusals."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core import DataError
from assay.core.media import decode_base64
from assay.media.encode import READERS, bytes_of_text


@given(st.binary(max_size=200))
def test_every_text_comes_back_as_its_bytes(data):
    text = base64.b64encode(data).decode()

    assert bytes_of_text(text) == bytes_of_text(f"data:image/png;base64,{text}") == data


def outcome(decode, text):
    try:
        return decode(text)
    except DataError as error:
        return str(error)


@given(st.text("ABz09+/=-_ \n*é", max_size=12))
def test_both_decoders_take_and_refuse_the_same_texts(text):
    assert outcome(bytes_of_text, text) == outcome(decode_base64, text)


@pytest.mark.parametrize("kind", READERS)
def test_a_fault_names_the_kind_of_medium(kind):
    with pytest.raises(DataError, match=f"^{kind} is not valid base64"):
        READERS[kind]("not base64 at all!")
