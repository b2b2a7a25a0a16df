"""The check of an upgrade passes with the present version, and fails for other results."""

from __future__ import annotations

import json
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from release.programs import ProgramError
from release.upgrade import ARCHIVE, try_upgrade

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.process


@pytest.fixture
def docyard() -> Path:
    """Return the program of the environment of the tests."""
    return Path(sys.executable).with_name("docyard")


def test_present_version_returns_what_0_1_0_returned(docyard: Path, tmp_path: Path) -> None:
    summary = try_upgrade(docyard, ROOT, tmp_path)
    assert "searches of 0.1.0 return the same" in summary
    assert "built next to 4-main-root without a message" in summary


@pytest.mark.slow  # starts a server
def test_other_result_of_a_search_is_refused(docyard: Path, tmp_path: Path) -> None:
    with tarfile.open(ROOT / ARCHIVE) as archive:
        archive.extractall(tmp_path / "files", filter="data")
    facts = json.loads((tmp_path / "files/facts.json").read_bytes())
    facts["searches"]["quagga"].pop()
    (tmp_path / "files/facts.json").write_text(json.dumps(facts))
    target = tmp_path / "source" / ARCHIVE
    target.parent.mkdir(parents=True)
    with tarfile.open(target, "w:xz", preset=0) as archive:
        archive.add(tmp_path / "files", arcname="")
    shutil.rmtree(tmp_path / "files")
    with pytest.raises(ProgramError, match="a search for 'quagga' returns"):
        try_upgrade(docyard, tmp_path / "source", tmp_path / "home")
