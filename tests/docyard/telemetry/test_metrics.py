"""Metrics of one process and of several workers, with bounded labels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from docyard.mcp_server.calls import CallOutcome, ToolCall
from docyard.mcp_server.metrics_observer import MetricsObserver
from docyard.telemetry.metrics import Metrics
from tools.records.searches import SearchRecord
from tools.search.search_docs import TOOL


def read_samples(text: bytes) -> dict[tuple[str, tuple[str, ...]], float]:
    """Return the values of samples by name and the values of labels, in the order of the labels' names."""
    return {
        (sample.name, tuple(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def build_search(found: int) -> SearchRecord:
    return SearchRecord("secret question", "hybrid", {"secret-namespace": found}, {}, ("secret.md",), (), 5.0)


def test_calls_and_searches_are_counted_without_content() -> None:
    metrics = Metrics("1.2.3")
    observer = MetricsObserver(metrics, {"docs_search_docs": TOOL}.get)
    call = ToolCall("docs_search_docs", {"query": "secret question"}, "client", None)
    observer.observe(call, CallOutcome("ok", 12.0, None, [build_search(2), build_search(0)]))
    observer.observe(call, CallOutcome("RATE_LIMITED", 0.0, None, ()))
    observer.observe(call._replace(name="secret-tool"), CallOutcome("UNKNOWN_TOOL", 0.1, None, ()))
    text = metrics.render()
    assert b"secret" not in text
    samples = read_samples(text)
    assert samples["docyard_calls_total", ("ok", "search_docs")] == 1
    assert samples["docyard_calls_total", ("RATE_LIMITED", "search_docs")] == 1
    assert samples["docyard_calls_total", ("UNKNOWN_TOOL", "unknown")] == 1
    assert samples["docyard_call_duration_seconds_count", ("search_docs",)] == 1
    assert samples["docyard_searches_total", ("yes", "hybrid")] == 1
    assert samples["docyard_searches_total", ("no", "hybrid")] == 1
    assert samples["docyard_build_info", ("1.2.3",)] == 1
    assert samples["docyard_process_resident_memory_bytes", ()] > 0


def test_labels_are_bounded() -> None:
    metrics = Metrics("1")
    for number in range(200):
        metrics.count_call(None, f"not a code {number}", 0.1)
        metrics.count_request("page", f"METHOD{number}", 200, 0.1)
    samples = read_samples(metrics.render())
    assert [labels for name, labels in samples if name == "docyard_calls_total"] == [("other", "unknown")]
    assert [labels for name, labels in samples if name == "docyard_http_requests_total"] == [
        ("other", "page", "200")
    ]


WORKER = """
import sys
from pathlib import Path
from docyard import environment
folder = Path(sys.argv[1])
environment.set_metrics_folder(folder)
from docyard.telemetry.metrics import Metrics
metrics = Metrics("1", folder)
for _ in range(int(sys.argv[2])):
    metrics.count_call("search_docs", "ok", 0.02)
metrics.count_dropped_records(2)
sys.stdout.buffer.write(metrics.render())
"""


@pytest.mark.process
def test_any_worker_reports_the_sum_of_all_workers(tmp_path: Path) -> None:
    def run_worker(count: int) -> dict[Any, float]:
        command = [sys.executable, "-c", WORKER, str(tmp_path), str(count)]
        return read_samples(subprocess.run(command, check=True, capture_output=True).stdout)

    run_worker(3)
    samples = run_worker(4)
    assert samples["docyard_calls_total", ("ok", "search_docs")] == 7
    assert samples["docyard_call_duration_seconds_count", ("search_docs",)] == 7
    assert samples["docyard_dropped_records_total", ()] == 4
    assert samples["docyard_build_info", ("1",)] == 1
