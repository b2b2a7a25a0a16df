"""The migrations of the schema, run by Alembic.

env.py      runs the migrations on the connection of `docyard/database/schema.py`
versions/   one module for each version
"""
