"""The database of a server: organizations, identities and records. Boundary of `alembic`.

database.py     opens a database of SQLite or PostgreSQL; transactions, and errors with a fix
errors.py       the errors of a database
ids.py          random ids with a prefix for the kind of a row
migrations/     the migrations of the schema (Alembic)
schema.py       the check at start, and the upgrade, of the schema
tables.py       the tables
"""
