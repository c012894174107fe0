"""Readers and makers of images: real parts on images of our own."""

from pathlib import Path

import pytest
from PIL import Image as pillow

from assay.core import GenerateOptions, Image, Message, Prompt, Request, UsageError
from assay.media import decode_image
from assay.models import build_model, embedded
from assay.models.specialists import digits_flow
from assay.models.specialists.digits_flow import DigitsFlow, asked_digit
from assay.models.specialists.readers import Tesseract
from assay.models.specialists.renderer import Renderer

IMAGES = (
    Path(embedded.__file__).parents[1] / "benchmarks" / "data" / "demo" / "pictures"
)
BREAD = Image(IMAGES / "02.png")
EMPTY = Image(pillow.new("RGB", (80, 80), "white"))


def needs(name: str) -> list[pytest.MarkDecorator]:
    entry = embedded.CATALOGUE[name]
    return [
        pytest.mark.embedded,
        pytest.mark.skipif(bool(entry.missing), reason=entry.install),
    ]


def ask(*parts, repeat: int = 0, seed: int | None = None, **options) -> Request:
    return Request(
        Prompt((Message.of("user", *parts),)), GenerateOptions(**options), seed, repeat
    )


READERS = [
    pytest.param(name, marks=needs(name), id=name) for name in ("rapidocr", "tesseract")
]


@pytest.fixture(scope="module")
def reader_of():
    built = {}
    return lambda name: built.setdefault(name, build_model(name))


@pytest.mark.xdist_group("readers")  # each loaded once
@pytest.mark.parametrize("name", READERS)
class TestReaders:
    def test_it_reads_a_plain_line(self, name, reader_of):
        [output] = reader_of(name).generate([ask(BREAD)])

        assert "".join(output.text.split()) == "Freshbreaddaily"

    def test_text_beside_the_image_is_ignored_and_the_record_notes_it(
        self, name, reader_of
    ):
        [output] = reader_of(name).generate([ask(BREAD, "What colour is it?")])

        assert "".join(output.text.split()) == "Freshbreaddaily"
        assert output.details["ignored"] == "text"

    def test_an_empty_page_has_no_text(self, name, reader_of):
        [output] = reader_of(name).generate([ask(EMPTY)])

        assert output.error is None and output.text == ""

    def test_a_broken_image_fails_alone(self, name, reader_of):
        broken, whole = reader_of(name).generate(
            [ask(Image(BREAD.data()[:100])), ask(EMPTY)]
        )

        assert "get the file again" in broken.error.message
        assert whole.error is None


def test_tesseract_takes_no_option_for_a_language():
    with pytest.raises(UsageError, match="is not a language"):
        Tesseract(language="--help")


class TestRenderer:
    def test_it_draws_the_quoted_text(self):
        quoted, plain = Renderer().generate(
            [ask('Draw a sign that says "OPEN".'), ask("OPEN")]
        )

        assert quoted.media[0].digest == plain.media[0].digest

    def test_a_long_text_takes_more_lines(self):
        short, long = Renderer().generate([ask("word"), ask("word " * 20)])

        assert (
            decode_image(long.media[0]).height > 2 * decode_image(short.media[0]).height
        )

    def test_letters_too_small_to_read_are_refused(self):
        with pytest.raises(UsageError, match="letter_pixels"):
            Renderer(letter_pixels=1)


class TestAskedDigit:
    @pytest.mark.parametrize(
        "text",
        ["Draw the digit 7.", "a handwritten seven", "SEVEN", "7, that is: seven"],
    )
    def test_a_digit_is_named_by_figure_or_word(self, text):
        assert asked_digit(text) == 7

    @pytest.mark.parametrize(
        ("text", "count"), [("Draw a cat.", 0), ("a 3 and a 4", 2), ("Draw 42.", 0)]
    )
    def test_none_or_several_are_a_fault_of_the_sample(self, text, count):
        [output] = _untrained().generate([ask(text)])

        assert f"the prompt names {count}" in output.error.message


def _untrained() -> DigitsFlow:
    model = DigitsFlow()
    model._engine = []  # faults of the prompt are found before a weight is used
    return model


class TestDigitsFlow:
    pytestmark = needs("digits-flow")

    @pytest.fixture(autouse=True)
    def own_cache(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        return tmp_path

    def test_it_makes_a_grey_image_of_eight_by_eight(self):
        [output] = DigitsFlow(training_steps=2).generate([ask("Draw the digit 3.")])

        picture = decode_image(output.media[0])
        assert picture.size == (8, 8) and output.media[0].format == "png"
        assert output.details["digit"] == 3

    def test_the_same_request_gives_the_same_image_and_a_repeat_another(self):
        model = DigitsFlow(training_steps=2)

        first, again, repeat, seeded = model.generate(
            [
                ask("Draw a 3."),
                ask("Draw a 3."),
                ask("Draw a 3.", repeat=1),
                ask("Draw a 3.", seed=5),
            ]
        )

        digests = [output.media[0].digest for output in (first, again, repeat, seeded)]
        assert digests[0] == digests[1] and len(set(digests)) == 3

    def test_several_candidates_are_several_images(self):
        [output] = DigitsFlow(training_steps=2).generate([ask("Draw a 3.", n=4)])

        assert len({candidate.media[0].digest for candidate in output.candidates}) == 4

    def test_weights_are_trained_once_and_kept_under_what_they_depend_on(
        self, own_cache, monkeypatch
    ):
        DigitsFlow(training_steps=2).load()
        monkeypatch.setattr(digits_flow, "train", _never)

        DigitsFlow(training_steps=2, drawing_steps=5).load()

        assert len(list((own_cache / "assay" / "digits-flow").iterdir())) == 1
        with pytest.raises(AssertionError, match="trained again"):
            DigitsFlow(training_steps=3).load()

    def test_a_damaged_cache_is_trained_anew(self, own_cache):
        DigitsFlow(training_steps=2).load()
        [file] = (own_cache / "assay" / "digits-flow").iterdir()
        file.write_bytes(b"PK\x03\x04 not a zip file")

        [output] = DigitsFlow(training_steps=2).generate([ask("Draw a 3.")])

        assert output.error is None

    def test_the_identity_names_the_half_it_learns_from(self):
        from assay.media.digits import digits

        assert DigitsFlow().identity["split"] == digits().digest
        assert DigitsFlow().identity != DigitsFlow(training_steps=2).identity

    def test_training_lowers_the_error_it_is_trained_on(self):
        import numpy as np

        from assay.media.digits import digits

        half = digits().drawing
        rough, fine = (digits_flow.train(half, steps, 0) for steps in (1, 150))

        assert _error(fine, half, np) < 0.6 * _error(rough, half, np)


def _never(*given):
    raise AssertionError("trained again")


def _error(weights, half, np) -> float:
    rng = np.random.default_rng(1)
    noise = rng.standard_normal(half.pixels.shape, dtype=np.float32)
    times = rng.random((len(noise), 1), dtype=np.float32)
    ends = half.pixels * 2 - 1
    inputs = digits_flow._inputs((1 - times) * noise + times * ends, half.labels, times)
    return float(
        ((digits_flow._forward(weights, inputs)[-1] - (ends - noise)) ** 2).mean()
    )
