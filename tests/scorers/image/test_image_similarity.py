"""PSNR and SSIM, against the values of scikit-image."""

import io
import math
import struct
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from assay.core import DataError, Image, Outcome, Output, Sample, UsageError
from assay.scorers.image.image_similarity import ImageSimilarity, psnr, ssim

RAMP = np.tile(np.arange(0, 256, 4, dtype=np.uint8), (64, 1))
BRIGHTER = np.clip(RAMP.astype(int) + 10, 0, 255).astype(np.uint8)
NOISY = np.clip(
    RAMP.astype(int) + np.random.RandomState(0).randint(-20, 21, RAMP.shape), 0, 255
).astype(np.uint8)


def picture(pixels):
    buffer = io.BytesIO()
    Pillow.fromarray(pixels).save(buffer, format="PNG")
    return Image(buffer.getvalue())


def test_psnr_has_the_known_values():
    assert psnr(RAMP, BRIGHTER) == pytest.approx(28.228248, abs=1e-6)
    assert psnr(RAMP, NOISY) == pytest.approx(26.696782, abs=1e-6)
    assert psnr(RAMP, RAMP) == math.inf


def test_ssim_has_the_known_values_of_both_windows():
    assert ssim(RAMP, NOISY) == pytest.approx(0.482631, abs=1e-6)
    assert ssim(RAMP, NOISY, window="skimage") == pytest.approx(0.564762, abs=1e-6)


def test_ssim_has_the_known_values_of_torchmetrics_and_piq_up_to_their_single_precision():
    assert ssim(RAMP, NOISY, window="torchmetrics") == pytest.approx(0.483164, abs=2e-5)
    assert ssim(RAMP, NOISY, window="piq") == pytest.approx(0.482612, abs=2e-5)


def test_piq_averages_large_images_first_and_a_mask_with_them():
    noise = np.random.RandomState(1)
    large = noise.randint(0, 256, (400, 420)).astype(np.uint8)
    other = np.clip(
        large.astype(int) + noise.randint(-30, 31, large.shape), 0, 255
    ).astype(np.uint8)
    everywhere = np.ones(large.shape, bool)

    assert ssim(large, other, window="piq") == pytest.approx(
        0.9724945336855851, abs=1e-9
    )  # piq 0.8.0, float64
    assert ssim(large, other, window="torchmetrics") == pytest.approx(
        0.9725514956530209, abs=1e-9
    )  # 1.9.0, float64
    assert ssim(large, other, window="piq", mask=everywhere) == pytest.approx(
        0.9724945336855851, abs=1e-9
    )
    assert ssim(large, other, window="torchmetrics", mask=everywhere) == pytest.approx(
        0.9725514956530209, abs=1e-9
    )


def test_a_rotated_photo_is_compared_as_it_is_seen():
    exif = Pillow.Exif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    Pillow.fromarray(np.dstack([RAMP[:32]] * 3)).save(buffer, format="PNG", exif=exif)
    upright = np.rot90(np.dstack([RAMP[:32]] * 3), 3)

    score = ImageSimilarity()(
        Sample("a", target=picture(upright)), Output.of(Image(buffer.getvalue()))
    )

    assert score.value["psnr"] == 100.0


def test_an_image_that_is_a_bomb_is_refused_before_it_is_unpacked():
    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunk = (
        struct.pack(">I", 13)
        + b"IHDR"
        + head
        + struct.pack(">I", crc32(b"IHDR" + head))
    )
    bomb = Image(b"\x89PNG\r\n\x1a\n" + chunk + b"\0\0\0\0IEND\xaeB`\x82")

    score = ImageSimilarity()(Sample("a", target=picture(RAMP)), Output.of(bomb))

    assert (
        score.outcome is Outcome.UNPARSED
        and "60,000 x 60,000" in score.details["reason"]
    )
    with pytest.raises(DataError, match="60,000 x 60,000"):
        ImageSimilarity()(Sample("a", target=bomb), Output.of(picture(RAMP)))


def test_a_wrong_range_gives_another_value():
    assert ssim(RAMP / 255, NOISY / 255, 2.0, window="skimage") == pytest.approx(
        0.716690, abs=1e-6
    )
    assert ssim(RAMP / 255, NOISY / 255, 1.0) == pytest.approx(ssim(RAMP, NOISY))


@pytest.mark.parametrize("metric", [psnr, ssim])
def test_the_range_must_be_given_for_numbers_that_are_not_bytes(metric):
    with pytest.raises(ValueError, match="data_range must be given"):
        metric(RAMP / 255, NOISY / 255)


@pytest.mark.parametrize("metric", [psnr, ssim])
def test_images_of_different_sizes_cannot_be_compared(metric):
    with pytest.raises(ValueError, match="different sizes"):
        metric(RAMP, RAMP[:32])


def test_an_image_smaller_than_the_window_has_no_ssim():
    with pytest.raises(ValueError, match="at least 11 x 11 pixels"):
        ssim(RAMP[:10, :10], RAMP[:10, :10])


def test_channels_are_averaged():
    colour = np.dstack([RAMP, RAMP, RAMP]), np.dstack([NOISY, RAMP, RAMP])

    assert ssim(*colour) == pytest.approx((ssim(RAMP, NOISY) + 2) / 3)


def test_the_same_image_is_capped_so_that_means_stay_finite():
    score = ImageSimilarity()(
        Sample(id="a", target=picture(RAMP)), Output.of(picture(RAMP))
    )

    assert score.value == {"psnr": 100.0, "ssim": pytest.approx(1.0)}
    assert score.details["identical"]


def test_only_the_pixels_to_keep_count():
    edited = NOISY.copy()
    edited[:32] = RAMP[:32]
    mask = np.zeros_like(RAMP)
    mask[:20] = 255
    sample = Sample(id="a", target=picture(RAMP), fields={"mask": picture(mask)})

    score = ImageSimilarity(keep="mask")(sample, Output.of(picture(edited)))

    assert score.value == {"psnr": 100.0, "ssim": pytest.approx(1.0)}


def test_an_image_of_another_size_is_compared_only_when_asked():
    sample, output = (
        Sample(id="a", target=picture(RAMP)),
        Output.of(picture(np.repeat(RAMP, 2, axis=0))),
    )

    refused = ImageSimilarity()(sample, output)

    assert refused.outcome is Outcome.UNPARSED
    assert "64 x 128, the reference 64 x 64" in refused.details["reason"]
    assert ImageSimilarity(resize=True)(sample, output).value["ssim"] > 0.99


def test_no_image_is_unparsed():
    assert (
        ImageSimilarity()(Sample(id="a", target=picture(RAMP)), Output.of("no")).outcome
        is Outcome.UNPARSED
    )


def test_nothing_to_compare_with_is_a_fault_of_the_data():
    assert (
        ImageSimilarity()(Sample(id="a"), Output.of(picture(RAMP))).outcome
        is Outcome.DATA_ERROR
    )


def test_an_unknown_window_is_refused():
    with pytest.raises(UsageError, match="does not know ssim_window='flat'"):
        ImageSimilarity(ssim_window="flat")


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["wang", "skimage"]))
def test_ssim_is_symmetric_and_highest_for_the_same_image(seed, window):
    one, other = (
        np.random.default_rng(seed).integers(0, 256, (2, 16, 13)).astype(np.uint8)
    )

    assert ssim(one, one, window=window) == pytest.approx(1.0)
    assert -1.0 <= ssim(one, other, window=window) <= 1.0
    assert ssim(one, other, window=window) == pytest.approx(
        ssim(other, one, window=window)
    )
