"""A server whose spans are written to a file, for tests: `python traced_server.py FILE serve …`.

An OpenTelemetry SDK is configured before the server starts, as `opentelemetry-instrument` does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from docyard.__main__ import main


class FileExporter(SpanExporter):
    """An exporter that appends each span to a file, as a line of JSON."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append spans to the file."""
        with self._file.open("a", encoding="utf-8") as stream:
            for span in spans:
                stream.write(json.dumps(json.loads(span.to_json())) + "\n")
        return SpanExportResult.SUCCESS


if __name__ == "__main__":
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(FileExporter(Path(sys.argv.pop(1)))))
    trace.set_tracer_provider(provider)
    sys.exit(main())
