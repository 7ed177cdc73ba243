"""Zstandard files of any frames, whole or cut anywhere, by random files of every kind of frame and block."""

from __future__ import annotations

import io
import random
from typing import BinaryIO, cast

import pytest

from bbpe.corpus.compressed import COMPRESSIONS

zstandard = pytest.importorskip("zstandard")


class Drops(io.BytesIO):
    """A file whose reads give few bytes."""

    most = 1 << 16

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(size or 0, self.most))


def read(data: bytes, most: int) -> bytes:
    file = Drops(data)
    file.most = most
    stream = cast(io.RawIOBase, COMPRESSIONS[".zst"](cast(BinaryIO, file), 0))
    out, buffer = b"", bytearray(777)
    while size := stream.readinto(buffer):
        out += buffer[:size]
    return out


def text(generator: random.Random) -> bytes:
    runs = (bytes([generator.randrange(256)]) * generator.randrange(1, 90) for _ in range(generator.randrange(200)))
    return b"".join(runs) * generator.choice([1, 1, 20])


def frame(generator: random.Random) -> tuple[bytes, bytes]:
    """A frame and what it has: a skippable one, one of a known or unknown length, with or without a checksum."""
    if not generator.randrange(6):
        skipped = generator.randbytes(generator.randrange(40))
        magic = 0x184D2A50 + generator.randrange(16)
        return magic.to_bytes(4, "little") + len(skipped).to_bytes(4, "little") + skipped, b""
    data = text(generator)
    maker = zstandard.ZstdCompressor(
        level=generator.choice([1, 3, 9]), write_checksum=generator.random() < 0.5,
        write_content_size=generator.random() < 0.5,
    )  # fmt: skip
    if generator.random() < 0.5:
        return maker.compress(data), data
    stream, flush = maker.compressobj(), zstandard.COMPRESSOBJ_FLUSH_BLOCK
    parts = [stream.compress(data[at : at + 300]) + stream.flush(flush) for at in range(0, len(data), 300)]
    return b"".join(parts) + stream.flush(), data


@pytest.mark.parametrize("seed", range(4))
def test_frames_are_read_whole_or_refused(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(12):
        frames = [frame(generator) for _ in range(generator.randrange(1, 4))]
        data, ends = b"", {0}
        for packed, _ in frames:
            data += packed
            ends.add(len(data))
        assert read(data, generator.choice([1, 7, 100, 1 << 16])) == b"".join(part for _, part in frames)
        for cut in {0, len(data) - 1, *(generator.randrange(len(data) + 1) for _ in range(8))} - ends:
            with pytest.raises((EOFError, ValueError)):
                read(data[:cut], generator.choice([3, 1 << 16]))
        with pytest.raises(ValueError, match="frame"):
            read(data + b"garbage", 1 << 16)


def test_a_window_of_any_length_is_read_where_memory_has_no_limit() -> None:
    """As `zstd --long=31` makes it; the window is reserved, and only as much as there is to read is touched."""
    for log in (27, 28, 31):
        options = zstandard.ZstdCompressionParameters(window_log=log, enable_ldm=True)
        writer = zstandard.ZstdCompressor(compression_params=options).compressobj()
        assert read(writer.compress(b"see my eyes") + writer.flush(), 1 << 16) == b"see my eyes"
