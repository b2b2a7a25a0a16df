"""The content of the servers of organizations, restricted to the namespaces that a caller may read."""
