"""The rows of a server whose sources are in a file, for its records."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select

from docyard.database.database import open_database
from docyard.database.tables import NAMESPACES, ORGANIZATIONS
from docyard.records.recorder import Recorder
from docyard.settings.settings import RecordsSection
from docyard.sources.default_organization import DefaultOrganization
from index.sources.settings import Analytics, SourceSettings, SourcesFile
from tests.docyard.records.conftest import make_search, observe, read_searches


def build_content(*names: str) -> SourcesFile:
    return SourcesFile(sources={name: SourceSettings(repo=name) for name in names})


def test_rows_of_later_sources_are_created(tmp_path: Path) -> None:
    analytics = Analytics(database="searches.sqlite", mode="text")
    database = open_database(analytics.database_url, tmp_path)
    contents = [build_content("api")]
    for _ in range(2):  # the second time as after a restart
        organization = DefaultOrganization(database, tmp_path, lambda: contents[-1])
        recorder = Recorder(database, RecordsSection(mode="text"), prepare=organization.get_target)
        recorder.start()
        observe(recorder, organization.get_target(), make_search())
        contents.append(build_content("api", "guides"))
        recorder.close()
        assert set(organization.get_target().namespace_ids) == {"api", "guides"}
    assert len(read_searches(database)) == 2
    with database.connect() as connection:
        assert len(connection.execute(select(ORGANIZATIONS)).all()) == 1
        rows = connection.execute(select(NAMESPACES.c.name, NAMESPACES.c.settings)).all()
    assert sorted(row.name for row in rows) == ["api", "guides"]
    assert {row.settings["repo"] for row in rows} == {str(tmp_path / "api"), str(tmp_path / "guides")}
    assert (tmp_path / "searches.sqlite").exists()


def test_url_of_the_database_is_accepted() -> None:
    assert Analytics(database="postgresql://host/name").database_url == "postgresql://host/name"
    assert Analytics(database="a/b.sqlite").database_url == "sqlite:///a/b.sqlite"
