"""`model.generate(...)` in a script: what counts as an image, how many come back, how they are seeded."""

import io
import random
from functools import partial
from pathlib import Path

import pytest

from assay.core import UsageError
from assay.dialects.ulmeval.drawing_models import BaseModel, supported_ULM


class Echo(BaseModel):
    """Keeps what it is asked, and draws at random."""

    def __init__(self, tone: int = 0) -> None:
        super().__init__()
        self.tone = tone
        self.seen: list = []

    def generate_inner(self, message, dataset=None):
        from PIL import Image

        self.seen.append(message)
        return Image.new(
            "RGB", (4, 4), (self.tone, random.randrange(256), random.randrange(256))
        )


def test_strings_with_two_generations_give_two_images(place):
    images = Echo().generate(["A photo of the Sydney Opera House."], num_generations=2)

    assert [image.size for image in images] == [(4, 4), (4, 4)]
    assert images[0].getpixel((0, 0)) != images[1].getpixel((0, 0))


@pytest.mark.parametrize(
    "words",
    ["cat", "README.md", "a red ball", "http://example.invalid/page.html", "", "."],
)
def test_words_stay_words_even_where_a_file_has_their_name(place, words):
    Path("cat").write_text("x")
    Path("README.md").write_text("x")
    model = Echo()

    model.generate([words])

    assert model.seen == [[{"type": "text", "value": words}]]


def test_an_existing_picture_and_a_data_url_among_strings_become_images(place, png):
    from PIL import Image

    Image.new("RGB", (3, 3), "blue").save("apple.jpg")
    model = Echo()

    model.generate(
        ["apple.jpg", f"data:image/png;base64,{png('green')}", "Add another apple"]
    )

    first, second, third = model.seen[0]
    assert first == {"type": "image", "value": "apple.jpg"}
    assert second["type"] == "image" and Image.open(second["value"]).getpixel(
        (0, 0)
    ) == (0, 128, 0)
    assert Path(second["value"]).parent == place.data / "files"
    assert third == {"type": "text", "value": "Add another apple"}


def test_a_text_by_itself_is_never_a_file(place):
    from PIL import Image

    Image.new("RGB", (3, 3)).save("apple.jpg")
    model = Echo()

    model.generate("apple.jpg")

    assert model.seen == [[{"type": "text", "value": "apple.jpg"}]]


def test_a_dict_and_a_list_of_dicts_keep_their_order(place):
    from PIL import Image

    Image.new("RGB", (3, 3)).save("a.png")
    model = Echo()
    message = [
        {"type": "text", "value": "first"},
        {"type": "image", "value": "a.png"},
        {"type": "text", "value": "then"},
    ]

    model.generate(message)
    model.generate({"type": "text", "value": "alone"})

    assert model.seen == [message, [{"type": "text", "value": "alone"}]]


def test_a_kind_the_model_does_not_take_is_refused(place):
    with pytest.raises(UsageError, match="Echo takes text, image, not video"):
        Echo().generate([{"type": "video", "value": "a.mp4"}])


def test_the_same_script_draws_the_same_and_the_same_call_again_something_else(
    place, monkeypatch
):
    from assay.dialects.ulmeval import ulmeval_drawing as drawing

    def drawn() -> list:
        drawing._calls.clear()
        model = Echo()
        return [model.generate("x")[0].getpixel((0, 0)) for _ in range(2)]

    first = drawn()
    second = drawn()
    monkeypatch.setenv("SEED", "7")

    assert first == second
    assert first[0] != first[1]
    assert drawn() != first


def test_a_seed_that_is_not_a_number_is_an_error(place, monkeypatch):
    monkeypatch.setenv("SEED", "seven")

    with pytest.raises(UsageError, match="SEED='seven' is not an integer"):
        Echo().generate("x")


def test_numpy_takes_the_seed_of_the_environment(place, monkeypatch):
    import numpy

    monkeypatch.setenv("SEED", "42")
    Echo().generate("y")

    assert isinstance(numpy.random.rand(), float)


def test_models_are_registered_and_built_by_name(place, monkeypatch):
    monkeypatch.setitem(supported_ULM, "Janus-Pro-1B", partial(Echo, tone=9))

    model = supported_ULM["Janus-Pro-1B"]()

    assert model.generate("x")[0].getpixel((0, 0))[0] == 9
    with pytest.raises(KeyError, match="no model 'Janus-Pro-7B' is registered"):
        supported_ULM["Janus-Pro-7B"]


def test_a_model_of_assay_is_supported_by_its_name(place):
    reference = place.write(
        "native.py",
        """
        from assay.core import Image
        def draw(request) -> Image:
            import io
            from PIL import Image as pillow
            buffer = io.BytesIO()
            pillow.new('RGB', (2, 2), 'blue').save(buffer, format='PNG')
            return Image(buffer.getvalue())
        """,
    )

    images = supported_ULM[f"{reference}:draw"]().generate("sky")

    assert images[0].getpixel((0, 0)) == (0, 0, 255)


def test_a_model_may_declare_that_it_takes_only_the_first_image(place):
    message = [
        {"type": "image", "value": "a"},
        {"type": "text", "value": "x"},
        {"type": "image", "value": "b"},
    ]

    with pytest.warns(UserWarning, match="Echo takes the first of 2 images"):
        assert Echo().message_to_promptimg(message) == ("x", "a")


def test_a_picture_with_transparency_is_kept_as_it_was_drawn():
    from PIL import Image

    from assay.dialects.ulmeval.ulmeval_drawing import as_medium

    drawn = as_medium(Image.new("RGBA", (2, 2), (1, 2, 3, 4)))
    printed = as_medium(Image.new("CMYK", (2, 2)))

    assert Image.open(io.BytesIO(drawn.data())).getpixel((0, 0)) == (1, 2, 3, 4)
    assert Image.open(io.BytesIO(printed.data())).mode == "RGB"


@pytest.mark.parametrize("side", [8, 128])
def test_a_picture_is_kept_as_it_was_when_the_model_gave_it(side):
    from PIL import Image

    from assay.dialects.ulmeval.ulmeval_drawing import as_medium

    canvas = Image.new("RGB", (side, side), "red")
    medium = as_medium(canvas)
    canvas.paste("blue", (0, 0, side, side))

    assert Image.open(io.BytesIO(medium.data())).getpixel((0, 0)) == (255, 0, 0)
    assert medium.format == "png"


def test_a_picture_without_pixels_is_refused_where_it_was_drawn():
    from PIL import Image

    from assay.dialects.ulmeval.ulmeval_drawing import as_medium

    with pytest.raises((ValueError, SystemError)):
        as_medium(Image.new("RGB", (0, 0)))
