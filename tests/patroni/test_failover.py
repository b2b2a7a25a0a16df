"""Faults of a cluster of PostgreSQL and of the nodes of Docyard: nothing is lost, and no answer is old."""

from __future__ import annotations

import os

import pytest

from tests.patroni.cluster import find_missing_programs, read_configuration, read_ttl_s
from tests.patroni.faults import FAULTS, format_table, run_faults

MAX_FAILOVER_S = 1.0
"""The seconds after the time to live of the lease in which writes are acknowledged again."""


def test_configuration_of_the_example_keeps_patronis_rule() -> None:
    values = read_configuration()["bootstrap"]["dcs"]
    assert values["loop_wait"] + 2 * values["retry_timeout"] <= values["ttl"]
    assert values["postgresql"]["parameters"]["synchronous_commit"] == "remote_apply"


@pytest.mark.slow
def test_faults_lose_no_write_and_give_no_stale_answer() -> None:
    if missing := find_missing_programs():
        reason = f"missing: {', '.join(missing)} (CONTRIBUTING.md says what to install)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    results = list(run_faults())
    table = format_table(results)
    print(table)
    assert [result.fault for result in results] == [fault.name for fault in FAULTS]
    assert all(result.lost_count == 0 for result in results), table
    assert all(result.stale_answer_count == 0 for result in results), table
    assert all(result.gap_s <= read_ttl_s() + MAX_FAILOVER_S for result in results), table
