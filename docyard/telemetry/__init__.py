"""Metrics and structured logs. Boundary of `prometheus_client`."""
