"""The two halves of the digits: disjoint, named by a digest, and read back from pictures."""

from importlib.util import find_spec

import numpy as np
import pytest

from assay.media import image_from
from assay.media.digits import digit_pixels, digits

pytestmark = pytest.mark.skipif(
    find_spec("sklearn") is None, reason="pip install scikit-learn"
)


def test_no_image_is_in_both_halves():
    drawing, judging = (
        {row.tobytes() for row in half.pixels}
        for half in (digits().drawing, digits().judging)
    )

    assert len(drawing) + len(judging) == 1797 and not drawing & judging


def test_every_digit_is_in_each_half():
    for half in (digits().drawing, digits().judging):
        assert (
            set(half.labels.tolist()) == set(range(10))
            and half.pixels.min() >= 0
            and half.pixels.max() <= 1
        )


def test_an_image_gives_back_its_pixels():
    row = digits().drawing.pixels[3]

    assert np.abs(digit_pixels(image_from(row.reshape(8, 8))) - row).max() <= 1 / 255


def test_a_larger_image_is_brought_to_eight_by_eight():
    row = digits().drawing.pixels[3]
    large = np.kron(row.reshape(8, 8), np.ones((5, 5), np.float32))

    assert np.abs(digit_pixels(image_from(large)) - row).max() <= 1 / 255
