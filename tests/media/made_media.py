"""Images and sounds made for the tests, whole and broken."""

import io
import struct
import zlib

import numpy as np
import soundfile
from PIL import Image as pillow

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def saved(picture, format, **options):
    """A Pillow image as the bytes of a file."""
    buffer = io.BytesIO()
    picture.save(buffer, format=format, **options)
    return buffer.getvalue()


def gradient(size=(48, 32)):
    """An image whose every corner is different."""
    width, height = size
    across, down = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return pillow.fromarray(
        np.stack([across, down, 255 - across], axis=-1).astype(np.uint8)
    )


def animation(format, frames=3):
    """A moving image."""
    pictures = [
        pillow.new("RGB", (8, 8), colour) for colour in (RED, GREEN, BLUE)[:frames]
    ]
    return saved(pictures[0], format, save_all=True, append_images=pictures[1:])


def bomb(side=14_000):
    """A few kilobytes of PNG that unpack to a great many pixels."""

    def chunk(name, body):
        return (
            struct.pack(">I", len(body))
            + name
            + body
            + struct.pack(">I", zlib.crc32(name + body))
        )

    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    row = b"\0" + b"\0" * ((side + 7) // 8)
    packer = zlib.compressobj(9)
    body = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", body)
        + chunk(b"IEND", b"")
    )


def tone(rate=16_000, seconds=1.0, hertz=440.0, channels=1):
    """A sine, frames by channels where there are several."""
    wave = 0.5 * np.sin(2 * np.pi * hertz * np.arange(int(rate * seconds)) / rate)
    return wave if channels == 1 else np.repeat(wave[:, None], channels, axis=1)


def sound(samples, rate=16_000, format="WAV", subtype=None):
    """Samples as the bytes of a file."""
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format=format, subtype=subtype)
    return buffer.getvalue()
