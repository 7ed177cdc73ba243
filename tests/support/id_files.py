"""Files of ids of every format, written and read after their layouts, without the package."""

import gzip
import json
import struct
from pathlib import Path

import numpy as np

CODES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint16": 8}


def packed(docs, dtype):
    return np.array([token for doc in docs for token in doc], dtype).tobytes()


def megatron(stem, docs, dtype="uint16", cut=None):
    """`cut` divides documents into sequences of so many ids at most; an empty document has none."""
    sequences, bounds = [], [0]
    for doc in docs:
        sequences += [doc[at : at + (cut or len(doc))] for at in range(0, len(doc), cut or len(doc) or 1)]
        bounds.append(len(sequences))
    size, at, begins = np.dtype(dtype).itemsize, 0, []
    for sequence in sequences:
        begins.append(at)
        at += len(sequence) * size
    Path(f"{stem}.bin").write_bytes(packed(docs, dtype))
    Path(f"{stem}.idx").write_bytes(
        struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, CODES[dtype], len(sequences), len(bounds))
        + np.array([len(each) for each in sequences], "<i4").tobytes()
        + np.array(begins, "<i8").tobytes() + np.array(bounds, "<i8").tobytes()
    )  # fmt: skip


def nanogpt(stem, docs, dtype="uint16"):
    Path(f"{stem}.bin").write_bytes(packed(docs, dtype))


def numpy(stem, docs, dtype="uint16"):
    np.save(f"{stem}.npy", np.frombuffer(packed(docs, dtype), dtype))


def llmc(stem, docs, dtype="uint16"):
    magic, version = {"uint16": (20240520, 1), "uint32": (20240801, 7)}[dtype]
    head = np.zeros(256, "<i4")
    head[:3] = magic, version, sum(map(len, docs))
    Path(f"{stem}.bin").write_bytes(head.tobytes() + packed(docs, dtype))


def automodel(stem, docs, dtype="uint16"):
    head = np.zeros(256, "<i4")
    head[:4] = 278895051, 1, sum(map(len, docs)), np.dtype(dtype).itemsize
    Path(f"{stem}.bin").write_bytes(head.tobytes() + packed(docs, dtype))
    begins = np.cumsum([0, *map(len, docs)])[:-1]
    Path(f"{stem}.bos.idx").write_bytes(begins.astype("<i4").tobytes())


def olmo(stem, docs, dtype="uint16", keys=None):
    nanogpt_bytes = packed(docs, dtype)
    Path(f"{stem}.npy").write_bytes(nanogpt_bytes)
    at, rows = 0, []
    for number, doc in enumerate(docs):
        rows.append(f"{at},{at + len(doc)},{number if keys is None else keys[number]},src.jsonl,{number}\n")
        at += len(doc)
    with gzip.open(f"{stem}.csv.gz", "wt") as file:
        file.write("".join(rows))


def datatrove(stem, docs, dtype="uint16"):
    Path(f"{stem}.ds").write_bytes(packed(docs, dtype))
    ends = np.cumsum([len(doc) for doc in docs])
    Path(f"{stem}.ds.index").write_bytes(ends.astype("<u8").tobytes())
    Path(f"{stem}.ds.metadata").write_text(f"x|{np.dtype(dtype).itemsize}\n{sum(map(len, docs))}\n1 T")


def parquet(stem, docs, dtype="uint16", large=False, **columns):
    import pyarrow as pa
    import pyarrow.parquet as pq

    make = pa.large_list if large else pa.list_
    lists = pa.array([list(map(int, doc)) for doc in docs], make(pa.from_numpy_dtype(np.dtype(dtype))))
    pq.write_table(pa.table({"input_ids": lists, **columns}), f"{stem}.parquet", row_group_size=17)


def mds(stem, docs, dtype="uint16", kind=None):
    """A sample has a text of any length, a number, the ids, and another number."""
    kind = f"ndarray:{dtype}" if kind is None else kind
    config = json.dumps({
        "column_encodings": ["str", "int64", kind, "uint32"], "column_names": ["a", "b", "input_ids", "z"],
        "column_sizes": [None, 8, None, 4], "compression": None, "format": "mds", "version": 2,
    }, sort_keys=True).encode()  # fmt: skip
    samples = []
    for number, doc in enumerate(docs):
        text, ids = b"x" * (number % 5), np.array(doc, dtype).tobytes()
        width = next(size for size in range(4) if len(doc) < 1 << (8 << size))
        shape = b"" if kind == "bytes" else bytes([4 | width]) + len(doc).to_bytes(1 << width, "little")
        dynamic = bytes([{"uint16": 16, "uint32": 32, "int32": 33, "int64": 65}[dtype]]) if kind == "ndarray" else b""
        column = dynamic + shape + ids
        samples.append(struct.pack("<II", len(text), len(column)) + text + b"\5" * 8 + column + b"\7\0\0\0")
    begin = 4 * (len(docs) + 2) + len(config)
    offsets = begin + np.cumsum([0, *map(len, samples)])
    data = struct.pack("<I", len(docs)) + offsets.astype("<u4").tobytes() + config + b"".join(samples)
    Path(f"{stem}.mds").write_bytes(data)


def litdata(stem, docs, dtype="uint16"):
    code = {"uint16": 20, "int32": 16, "int64": 18}[dtype]
    size = np.dtype(dtype).itemsize
    offsets = 4 * (len(docs) + 2) + size * np.cumsum([0, *map(len, docs)])
    data = struct.pack("<I", len(docs)) + offsets.astype("<u4").tobytes() + packed(docs, dtype)
    Path(f"{stem}.bin").write_bytes(data)
    index = {
        "chunks": [{"chunk_bytes": len(data), "chunk_size": len(docs), "dim": 1, "filename": Path(f"{stem}.bin").name}],
        "config": {"compression": None, "data_format": [f"no_header_tensor:{code}"], "encryption": None},
    }
    Path(stem).with_name("index.json").write_text(json.dumps(index))


#: Writers by their format, the dtypes that each has, and whether documents may be empty.
WRITERS = {
    "megatron": (megatron, tuple(CODES), True), "nanogpt": (nanogpt, ("uint16", "int32", "int64"), False),
    "numpy": (numpy, ("uint16", "uint32", ">u2"), False), "llmc": (llmc, ("uint16", "uint32"), False),
    "automodel": (automodel, ("uint16", "uint32"), False), "olmo": (olmo, ("uint16", "uint32"), True),
    "datatrove": (datatrove, ("uint16", "uint32"), True),
    "parquet": (parquet, ("uint16", "int32", "int64", "uint64"), True),
    "mds": (mds, ("uint16", "uint32", "int64"), False), "litdata": (litdata, ("uint16", "int32", "int64"), True),
}  # fmt: skip
#: Formats whose files do not say the dtype.
NAMELESS = ("nanogpt", "olmo")
#: Formats without ends of documents.
DELIMITED = ("nanogpt", "numpy", "llmc")


def divided(ids, eos):
    """Documents by the id that each of them ends with."""
    docs, at = [], 0
    for number, token in enumerate(ids):
        if token == eos:
            docs.append(ids[at : number + 1])
            at = number + 1
    assert at == len(ids)
    return docs


def between(ids, bounds):
    return [ids[start:stop] for start, stop in zip([0, *bounds[:-1]], bounds, strict=True)] if bounds else []


def read(stem, form, dtype, eos):
    """Documents of one written part, by the format's own files alone."""
    path = Path(stem)

    def numbers(suffix, kind, offset=0, count=-1):
        data = path.with_name(path.name + suffix).read_bytes()
        return np.frombuffer(data, kind, count, offset).tolist()

    if form == "megatron":
        head = struct.unpack("<9sQBQQ", path.with_name(path.name + ".idx").read_bytes()[:34])
        assert head[:3] == (b"MMIDIDX\0\0", 1, CODES[dtype])
        lengths = numbers(".idx", "<i4", 34, head[3])
        documents = numbers(".idx", "<i8", 34 + 12 * head[3], head[4])
        assert len(path.with_name(path.name + ".idx").read_bytes()) == 34 + 12 * head[3] + 8 * head[4]
        ends = [0, *np.cumsum(lengths).tolist()]
        return between(numbers(".bin", dtype), [ends[number] for number in documents[1:]])
    if form == "nanogpt":
        return divided(numbers(".bin", dtype), eos)
    if form == "numpy":
        found = np.load(path.with_name(path.name + ".npy"))
        assert found.dtype == dtype
        return divided(found.tolist(), eos)
    if form in ("llmc", "automodel"):
        count, ids = numbers(".bin", "<i4", 0, 3)[2], numbers(".bin", dtype, 1024)
        assert count == len(ids)
        return divided(ids, eos) if form == "llmc" else between(ids, [*numbers(".bos.idx", "<i4")[1:], len(ids)])
    if form == "olmo":
        rows = gzip.decompress(Path(f"{stem}.csv.gz").read_bytes()).decode().splitlines()
        ids = numbers(".npy", dtype)
        return [ids[int(start) : int(stop)] for start, stop, *_ in (row.split(",") for row in rows)]
    if form == "datatrove":
        return between(numbers(".ds", dtype), numbers(".ds.index", "<u8"))
    import pyarrow.parquet as pq

    return pq.read_table(f"{stem}.parquet").column("input_ids").to_pylist()
