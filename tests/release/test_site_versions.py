"""The versions of the documentation site are listed, and `latest` is the newest release."""

from __future__ import annotations

from pathlib import Path

import pytest

from release.site_versions import find_latest, list_versions, publish_versions


def write_site(folder: Path, version: str) -> None:
    (folder / version).mkdir()
    (folder / version / "index.html").write_text(f"<p>{version}</p>")


def test_versions_are_listed_from_newest_to_oldest(tmp_path: Path) -> None:
    for name in ("0.9.0", "0.10.0", "1.0.0rc2", "1.0.0rc10", "1.0.0", "latest", "1.0", "assets"):
        write_site(tmp_path, name)
    assert list_versions(tmp_path) == ["1.0.0", "1.0.0rc10", "1.0.0rc2", "0.10.0", "0.9.0"]


def test_latest_is_the_newest_release(tmp_path: Path) -> None:
    for name in ("0.1.0", "0.2.0rc1"):
        write_site(tmp_path, name)
    assert publish_versions(tmp_path) == ["0.2.0rc1", "0.1.0"]
    assert (tmp_path / "latest/index.html").read_text() == "<p>0.1.0</p>"
    write_site(tmp_path, "0.2.0")
    publish_versions(tmp_path)
    assert (tmp_path / "latest/index.html").read_text() == "<p>0.2.0</p>"
    page = (tmp_path / "index.html").read_text()
    assert (
        page.index("latest/index.html") < page.index('"0.2.0/index.html"') < page.index('"0.1.0/index.html"')
    )


def test_prerelease_is_latest_if_there_is_no_release() -> None:
    assert find_latest(["1.0.0rc1"]) == "1.0.0rc1"
    assert find_latest([]) is None


def test_folder_without_a_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no folder of a version"):
        publish_versions(tmp_path)
    assert list(tmp_path.iterdir()) == []
