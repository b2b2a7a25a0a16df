"""Measurements of searches with vectors, and of builds with the provider `hash`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.corpus import Corpus
from benchmarks.search.vectors import DIMENSIONS, RandomEmbedder
from benchmarks.stages import BenchmarkContext, _measure_hash_builds
from index.vectors.embedder import check_vectors
from tests.benchmarks.test_run import make_documents


def test_random_vectors_are_equal_for_equal_texts_and_far_for_others() -> None:
    first, second, other = check_vectors(RandomEmbedder().embed_documents(["a b", "a b", "a c"]), 3)
    assert first.shape == (DIMENSIONS,)
    np.testing.assert_array_equal(first, second)
    assert abs(float(first @ other)) < 0.3


@pytest.mark.process
def test_hybrid_searches_are_measured_after_sections_are_embedded(tmp_path: Path) -> None:
    bench = BenchmarkContext.create(Corpus(make_documents(20)), tmp_path)
    queries = bench.queries[:20]
    disk = bench.measure("search.vectors_on_disk")
    assert disk["sections"] == 80
    assert disk["bytes"] > 80 * 3 * DIMENSIONS
    for with_vectors in (False, True):
        results = bench.measure("search.vectors", queries=queries, warm_up=[], with_vectors=with_vectors)
        assert 0 < results["p50_ms"] <= results["p95_ms"]
        assert 20 < results["resident_mb"] <= results["peak_mb"] + 1


@pytest.mark.process
def test_builds_with_hash_are_compared_with_builds_without_vectors(tmp_path: Path) -> None:
    bench = BenchmarkContext.create(Corpus(make_documents(20)), tmp_path)
    builds = _measure_hash_builds(bench, tmp_path / "builds")
    assert builds["index_ratio"] == pytest.approx(builds["embed_s"] / builds["rebuild_s"])
    assert builds["artifact_ratio"] == pytest.approx(
        builds["artifact_with_vectors_s"] / builds["artifact_s"] - 1
    )
    folders = {
        file.relative_to(tmp_path / "builds").parts[0]
        for file in tmp_path.rglob("builds/**/*vectors*.sqlite")
    }
    assert folders == {"index", "artifact_with_vectors", "artifact_with_vectors-cache"}
