"""The organizations of a server, with their servers and namespaces: reading and administration."""
