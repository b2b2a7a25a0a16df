"""The choice of a provider: contradictions of its options, and no import of a provider that is not used."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from docyard.embedding.errors import InvalidProvider
from docyard.embedding.provider import PROVIDER_NAMES, ProviderOptions, create_embedder
from tests.docyard.embedding.onnx_models import write_model
from tests.loops import loop_over
from tests.stdio_client import RawClient, build_server_environment

URL = "https://api.example.com/v1"
UNUSED_MODULES = {
    "onnxruntime",
    "tokenizers",
    "docyard.embedding.http",
    "docyard.embedding.local",
    "docyard.forges.transport",
}


@loop_over(
    "options, field",
    [
        ({"name": "word2vec"}, "provider"),
        ({"name": ""}, "provider"),
        ({"name": "none", "url": URL}, "url"),
        ({"name": "none", "model": "small"}, "model"),
        ({"name": "none", "dimensions": 256}, "dimensions"),
        ({"name": "hash", "url": URL}, "url"),
        ({"name": "hash", "model": "small"}, "model"),
        ({"name": "hash", "dimensions": 256}, "dimensions"),
        ({"name": "local", "url": URL}, "url"),
        ({"name": "local", "dimensions": 256}, "dimensions"),
        ({"name": "local", "model": " "}, "model"),
        ({"name": "local", "model": "missing"}, "model"),
        ({"name": "local", "model": "~no-such-user/model"}, "model"),
        ({"name": "http"}, "url"),
        ({"name": "http", "url": URL}, "model"),
        ({"name": "http", "model": "small"}, "url"),
        ({"name": "http", "url": "", "model": "small"}, "url"),
        ({"name": "http", "url": URL, "model": ""}, "model"),
        ({"name": "http", "url": URL, "model": "small", "dimensions": 0}, "dimensions"),
        ({"name": "http", "url": URL, "model": "small", "key": "two words"}, "key"),
        ({"name": "http", "url": "http://api.example.com", "model": "small"}, "url"),
    ],
)
def test_contradiction_of_options_is_an_error_with_a_fix(
    tmp_path: Path, options: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidProvider) as error:
        create_embedder(ProviderOptions(**options), tmp_path)
    assert error.value.details["field"] == field
    assert error.value.fix
    assert error.value.code == "INVALID_EMBEDDING_PROVIDER"


def test_each_name_creates_its_provider(tmp_path: Path) -> None:
    write_model(tmp_path / "tiny")
    key = "sk-4f1d9c02b7"  # one variable of the environment, which may be set for any provider
    for name in PROVIDER_NAMES:
        options = ProviderOptions(name, key=key)
        if name == "http":
            options = dataclasses.replace(options, url=URL, model="small", dimensions=256)
        embedder = create_embedder(options)
        assert (embedder.provider if embedder is not None else "none") == name
    embedder = create_embedder(ProviderOptions("local", "tiny"), tmp_path)
    assert embedder is not None
    assert embedder.model.startswith("tiny-")


@pytest.mark.process
def test_serve_without_provider_imports_no_provider(repo: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "docyard", "serve", "-C", str(repo), "--no-fsync"]
    client = RawClient(command)
    response = client.call(1, "search_documents", {"query": "backoff with jitter"})
    assert '"slug":"retries"' in str(response["result"])
    check_imports(client.close())


@pytest.mark.process
def test_search_without_provider_imports_no_provider(repo: Path) -> None:
    completed = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "docyard", "search", "-C", str(repo), "jitter"],
        check=True,
        capture_output=True,
        text=True,
        env=build_server_environment(),
    )
    assert "Retries" in completed.stdout
    assert "httpx2" not in check_imports(completed.stderr)  # the MCP SDK of a server imports it


def check_imports(import_times: str) -> set[str]:
    """Return the modules in the output of `-X importtime`. Fail if one of them belongs to a provider."""
    names = set(re.findall(r"^import time:.*\| +(\S+)$", import_times, re.MULTILINE))
    assert {"docyard.embedding.provider", "index.service"} <= names
    assert names & UNUSED_MODULES == set()
    assert all(map(find_spec, UNUSED_MODULES)), "a module does not exist"
    return names
