"""Tasks, drift and traces through real servers and clients."""
