"""Tiny models in ONNX form and their tokenizers, written without the package `onnx`.

A model is a message of `onnx.proto` (https://onnx.ai/onnx/repo-docs/IR.html), in the encoding of protobuf.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

WORDS = ("[PAD]", "[UNK]", "lock", "key", "bread")
VECTORS = np.array([[9, 9], [0, 0], [1, 0], [0.9, 0.1], [0, 1]], np.float32)
_FLOAT, _INT64 = 1, 7


def write_model(
    folder: Path, inputs: Sequence[str] = ("input_ids", "attention_mask"), output: str = "vectors"
) -> Path:
    """Write a model that returns a row of VECTORS for each token, or another output, into a new folder.

    The output is "vectors", "sum" (a single number), or the name of an input.
    """
    folder.mkdir()
    nodes = _write_node("Gather", ("table", inputs[0]), "vectors") + _write_node(
        "ReduceSum", ("table",), "sum"
    )
    table = (
        b"".join(_write_number(1, size) for size in VECTORS.shape)
        + _write_number(2, _FLOAT)
        + _write_bytes(8, b"table")
        + _write_bytes(9, VECTORS.tobytes())
    )
    nodes += _write_node("Identity", (output,), "output")
    graph = (
        nodes
        + _write_bytes(2, b"graph")
        + _write_bytes(5, table)
        + b"".join(_write_bytes(11, _write_value(name, _INT64)) for name in inputs)
        + _write_bytes(12, _write_value("output", _INT64 if output in inputs else _FLOAT))
    )
    model = _write_number(1, 8) + _write_bytes(7, graph) + _write_bytes(8, _write_number(2, 13))
    (folder / "model.onnx").write_bytes(model)
    write_tokenizer(folder, WORDS)
    return folder


def write_tokenizer(folder: Path, words: Sequence[str]) -> None:
    """Write the tokenizer of a vocabulary."""
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()  # type: ignore[assignment]
    tokenizer.save(str(folder / "tokenizer.json"))


def _write_node(operator: str, inputs: Sequence[str], output: str) -> bytes:
    names = b"".join(_write_bytes(1, name.encode()) for name in inputs)
    no_dimensions = b""
    if operator == "ReduceSum":
        attribute = _write_bytes(1, b"keepdims") + _write_number(3, 0) + _write_number(20, 2)
        no_dimensions = _write_bytes(5, attribute)
    return _write_bytes(
        1, names + _write_bytes(2, output.encode()) + _write_bytes(4, operator.encode()) + no_dimensions
    )


def _write_value(name: str, element_type: int) -> bytes:
    tensor = _write_number(1, element_type)
    return _write_bytes(1, name.encode()) + _write_bytes(2, _write_bytes(1, tensor))


def _write_number(field: int, number: int) -> bytes:
    return _write_varint(field << 3) + _write_varint(number)


def _write_bytes(field: int, data: bytes) -> bytes:
    return _write_varint(field << 3 | 2) + _write_varint(len(data)) + data


def _write_varint(number: int) -> bytes:
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    data.append(number)
    return bytes(data)
