"""The records of a server whose sources are in a file."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select

from docyard.database.tables import NAMESPACES, ORGANIZATIONS
from docyard.records.default_organization import open_sources_records
from index.sources.settings import Analytics
from tests.docyard.records.conftest import make_search, observe, read_searches


def test_database_organization_and_later_sources_are_created(tmp_path: Path) -> None:
    names = ["api"]
    analytics = Analytics(database="searches.sqlite", mode="text")
    for _ in range(2):  # the second time as after a restart
        records = open_sources_records(analytics, tmp_path, lambda: names)
        records.recorder.start()
        observe(records.recorder, records.observer._get_target(), make_search())
        names.append("guides")
        records.recorder.close()
        observe_again = records.observer._get_target()
        assert set(observe_again.namespace_ids) == set(names)
        names[:] = ["api", "guides"]
    assert len(read_searches(records.database)) == 2
    with records.database.connect() as connection:
        assert len(connection.execute(select(ORGANIZATIONS)).all()) == 1
        assert sorted(connection.execute(select(NAMESPACES.c.name)).scalars()) == ["api", "guides"]
    assert (tmp_path / "searches.sqlite").exists()


def test_url_of_the_database_is_kept() -> None:
    assert Analytics(database="postgresql://host/name").database_url == "postgresql://host/name"
    assert Analytics(database="a/b.sqlite").database_url == "sqlite:///a/b.sqlite"
