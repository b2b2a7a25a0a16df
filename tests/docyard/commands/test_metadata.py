"""`docyard metadata`: the metadata of an index, and the problems of a file or an artifact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docyard.cli.main import main
from tests.docyard.conftest import Git
from tests.loops import loop_over

Capture = pytest.CaptureFixture[str]

VALID_METADATA: dict[str, Any] = {
    "metadata_version": "1.1.0",
    "corpus_description": "Acme's guides",
    "taxonomy": {"language": {"description": "The language.", "values": ["python", "go"]}},
    "stats": {"total_chunks": 7, "total_files": 3, "indexed_at": "2026-02-21T14:32:00Z"},
    "embedding": {"provider": "openai", "model": "large", "dimensions": 3072},
}


@pytest.fixture
def metadata_file(tmp_path: Path) -> Path:
    return tmp_path / "metadata.json"


def test_metadata_of_repository_index_is_printed(repo: Path, git: Git, capsys: Capture) -> None:
    assert main(["index", "rebuild", "-C", str(repo)]) == 0
    capsys.readouterr()
    assert main(["metadata", "-C", str(repo), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["problems"] == []
    assert report["metadata"]["stats"]["source_commit"] == git("rev-parse", "HEAD")
    assert report["metadata"]["taxonomy"]["tags"] == {"values": ["backend"]}
    assert main(["metadata", "-C", str(repo)]) == 0
    assert "description\tdocumentation of specs\n" in capsys.readouterr().out


def test_missing_index_returns_error_with_rebuild_command(repo: Path, capsys: Capture) -> None:
    assert main(["metadata", "-C", str(repo)]) == 3
    assert "docyard index rebuild" in capsys.readouterr().err


def test_valid_file_is_printed(metadata_file: Path, capsys: Capture) -> None:
    metadata_file.write_text(json.dumps(VALID_METADATA))
    assert main(["metadata", str(metadata_file)]) == 0
    output = capsys.readouterr().out
    assert "embedding\topenai large 3072\n" in output
    assert "source_commit\tnone\n" in output
    assert "language\t2\tThe language.\n" in output
    assert main(["metadata", str(metadata_file), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["metadata"]["taxonomy"]["language"]["values"] == ["go", "python"]
    assert report["metadata"]["stats"]["source_commit"] is None


@loop_over(
    ("field", "changed_fields"),
    [
        ("metadata_version", {"metadata_version": "1.1"}),
        ("metadata_version", {"metadata_version": "2.0.0"}),
        ("stats.source_commit", {"stats": {**VALID_METADATA["stats"], "source_commit": "a" * 39}}),
        ("taxonomy", {"taxonomy": {f"k{i}": {"values": []} for i in range(65)}}),
        ("taxonomy.k.values", {"taxonomy": {"k": {"values": [str(i) for i in range(513)]}}}),
        ("taxonomy.k.values.0", {"taxonomy": {"k": {"values": ["x" * 200]}}}),
        ("taxonomy.limit", {"taxonomy": {"limit": {"values": []}}}),
        ("embedding.dimensions", {"embedding": {"provider": "p", "model": "m", "dimensions": 0}}),
    ],
)
def test_problem_is_reported_with_its_field(
    field: str, changed_fields: dict[str, Any], metadata_file: Path, capsys: Capture
) -> None:
    metadata_file.write_text(json.dumps({**VALID_METADATA, **changed_fields}))
    assert main(["metadata", str(metadata_file)]) == 1
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{field}\t")
    assert main(["metadata", str(metadata_file), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["metadata"] is None
    assert [problem["field"] for problem in report["problems"]] == [field]


def test_every_problem_is_listed(metadata_file: Path, capsys: Capture) -> None:
    metadata_file.write_text(
        json.dumps({**VALID_METADATA, "metadata_version": "1", "corpus_description": None, "stats": {}})
    )
    assert main(["metadata", str(metadata_file)]) == 1
    fields = [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()]
    assert fields == [
        "metadata_version",
        "corpus_description",
        "stats.total_chunks",
        "stats.total_files",
        "stats.indexed_at",
    ]


def test_invalid_json_is_reported_as_problem(metadata_file: Path, capsys: Capture) -> None:
    metadata_file.write_bytes(b"\xff{")
    assert main(["metadata", str(metadata_file)]) == 1
    assert capsys.readouterr().out.startswith("metadata.json\t")


@pytest.mark.parametrize("name", ["missing.json", "folder"])
def test_error_for_unreadable_file_omits_its_folder(name: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "folder").mkdir()
    assert main(["metadata", str(tmp_path / name)]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert "\n  fix: " in captured.err
    assert str(tmp_path) not in captured.err


def test_key_option_requires_artifact(metadata_file: Path, capsys: Capture) -> None:
    metadata_file.write_text(json.dumps(VALID_METADATA))
    assert main(["metadata", str(metadata_file), "--key", "k"]) == 2
    assert "--key" in capsys.readouterr().err


def test_damaged_pack_of_artifact_is_reported_as_problem(repo: Path, tmp_path: Path, capsys: Capture) -> None:
    artifact, key = tmp_path / "out", tmp_path / "key"
    assert main(["build", "-C", str(repo), "--out", str(artifact), "--key", str(key)]) == 0
    capsys.readouterr()
    assert main(["metadata", str(artifact), "--key", str(key), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["metadata"]["stats"]["total_files"] == 1
    [pack] = (artifact / "objects" / "pack").glob("*.pack")
    pack_bytes = bytearray(pack.read_bytes())
    pack_bytes[-1] ^= 1
    pack.chmod(0o600)
    pack.write_bytes(pack_bytes)
    assert main(["metadata", str(artifact)]) == 1
    assert "\nartifact\t" in capsys.readouterr().out
    assert main(["metadata", str(artifact), "--json"]) == 1
    [problem] = json.loads(capsys.readouterr().out)["problems"]
    assert problem["field"] == "artifact"
    assert pack.name in problem["reason"]
