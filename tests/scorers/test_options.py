"""What scorers look at before a run: the words of an option."""

import pytest

from assay.core import UsageError
from assay.scorers.scorer_options import check_option


def test_an_unknown_option_value_is_refused_with_the_known_ones():
    check_option("f1", "tokens", "cjk", ("words", "cjk"))

    with pytest.raises(UsageError) as refusal:
        check_option("f1", "tokens", "bytes", ("words", "cjk"))

    assert (
        str(refusal.value)
        == "scorer 'f1' does not know tokens='bytes'; fix: tokens: one of words, cjk"
    )
