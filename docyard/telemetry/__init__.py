"""Metrics and structured logs. Boundary of `prometheus_client`.

metrics.py       the metrics of a server, of one process or of several workers
logs.py          logs as JSON or text, without content
request_ids.py   the id of the current request
"""
