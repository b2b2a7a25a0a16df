"""Dead links of the site are found in its HTML, and its archive has equal bytes for equal files."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from release.site import SiteError, pack_site, try_site

COMMIT_TIME = 1_700_000_000
PAGES = {
    "index.html": '<h1 id="top">A</h1><a href="b.html#part">B</a><a href="#top">A</a><a href="/">A</a>',
    "b.html": '<h1>B</h1><p id="part">B</p><img src="files/one%20picture.svg"><a href="files">C</a>',
    "files/one picture.svg": "<svg/>",
    "files/index.html": '<a href="https://example.org/dead">elsewhere</a>',
}


def write_site(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture(autouse=True)
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("release.site._BROWSERS", ())


def test_equal_files_give_equal_bytes(tmp_path: Path) -> None:
    for name, files in (("1", PAGES), ("2", dict(reversed(PAGES.items())))):
        pack_site(write_site(tmp_path / name, files), tmp_path / f"{name}.zip", COMMIT_TIME)
    assert (tmp_path / "1.zip").read_bytes() == (tmp_path / "2.zip").read_bytes()
    assert zipfile.ZipFile(tmp_path / "1.zip").namelist() == sorted(PAGES)


def test_valid_links_are_accepted_and_a_missing_browser_is_reported(tmp_path: Path) -> None:
    pack_site(write_site(tmp_path / "site", PAGES), tmp_path / "site.zip", COMMIT_TIME)
    summary = try_site(tmp_path / "site.zip", tmp_path / "home")
    assert summary.startswith("2 pages with 5 links, none dead; not opened in a browser")


@pytest.mark.parametrize("link", ["c.html", "b.html#top", "#none", "../index.html", "files/other.svg"])
def test_dead_link_is_refused_with_its_page(tmp_path: Path, link: str) -> None:
    pages = {**PAGES, "b.html": f'{PAGES["b.html"]}<a href="{link}">dead</a>'}
    pack_site(write_site(tmp_path / "site", pages), tmp_path / "site.zip", COMMIT_TIME)
    with pytest.raises(SiteError, match=f"1 dead links, such as b.html: {link}"):
        try_site(tmp_path / "site.zip", tmp_path / "home")
