"""Which tensors and tokens belong to each image and clip of a prompt."""

import pytest

from assay.models.local_transformers.attention import CannotShare
from assay.models.local_transformers.media_pieces import (
    group_pieces,
    marks_of,
    separate_media,
)

pytestmark = pytest.mark.torch
MARKS = {"image": 9, "audio": 8}


def inputs(ids, **tensors):
    import torch

    return {
        "input_ids": torch.tensor([ids]),
        "attention_mask": torch.ones(1, len(ids)),
        **tensors,
    }


def test_each_row_of_the_tensors_is_an_image():
    import torch

    pixels = torch.arange(2 * 3 * 4.0).view(2, 3, 2, 2)

    one, other = separate_media(
        inputs([1, 9, 9, 2, 9, 9, 3], pixel_values=pixels), MARKS
    )

    assert (one.positions, other.positions) == ((1, 2), (4, 5))
    assert torch.equal(other.tensors["pixel_values"], pixels[1:])
    assert one.digest != other.digest


def test_patches_are_separated_by_their_grids():
    import torch

    grids = torch.tensor([[1, 2, 2], [1, 4, 2]])
    patches = torch.arange(12.0)[:, None]

    one, other = separate_media(
        inputs([9, 5, 9, 9], pixel_values=patches, image_grid_thw=grids), MARKS
    )

    assert [len(piece.tensors["pixel_values"]) for piece in (one, other)] == [4, 8]
    assert (one.positions, other.positions) == ((0,), (2, 3))


def test_images_of_equal_shape_have_equal_numbers_of_tokens():
    import torch

    pieces = separate_media(
        inputs([9] * 6, pixel_values=torch.zeros(3, 1, 2, 2)), MARKS
    )

    assert [piece.positions for piece in pieces] == [(0, 1), (2, 3), (4, 5)]
    assert len({piece.digest for piece in pieces}) == 1


def test_inseparable_media_are_one_piece():
    import torch

    [whole] = separate_media(
        inputs([9] * 5, pixel_values=torch.zeros(2, 1, 2, 2)), MARKS
    )
    [tiled] = separate_media(
        inputs([9, 9, 1, 9], pixel_values=torch.zeros(1, 3, 2), rows=torch.zeros(2)),
        MARKS,
    )

    assert whole.positions == (0, 1, 2, 3, 4)
    assert tiled.positions == (0, 1, 3)


def test_all_images_of_a_prompt_in_one_row_are_separated_by_their_runs():
    import torch

    pixels = torch.arange(2 * 3 * 4.0).view(1, 2, 3, 2, 2)
    given = {"pixel_values": pixels, "pixel_attention_mask": torch.ones(1, 2, 2, 2)}

    one, other = separate_media(inputs([9, 9, 1, 9, 9], **given), MARKS)

    assert (one.positions, other.positions) == ((0, 1), (3, 4))
    assert torch.equal(other.tensors["pixel_values"], pixels[:, 1:])


def test_images_and_clips_of_one_prompt_have_separate_tokens():
    import torch

    given = inputs(
        [9, 9, 1, 8], pixel_values=torch.ones(1, 3), input_features=torch.ones(1, 3)
    )

    seen, heard = separate_media(given, MARKS)

    assert (seen.mark, seen.positions, heard.mark, heard.positions) == (
        9,
        (0, 1),
        8,
        (3,),
    )
    assert seen.digest != heard.digest
    assert group_pieces([seen, heard, seen], 1) == [[heard], [seen], [seen]]


def test_media_without_a_placeholder_token_are_refused():
    import torch

    with pytest.raises(CannotShare, match="no token stands for its image input"):
        separate_media(inputs([1, 2], pixel_values=torch.ones(1, 3)), MARKS)


def test_placeholder_tokens_are_found_under_both_names():
    class Config:
        image_token_index = 4
        audio_token_id = 5

    assert marks_of(Config()) == {"image": 4, "audio": 5}
