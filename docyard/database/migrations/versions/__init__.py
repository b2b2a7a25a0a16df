"""The versions of the schema, one module each, in the order of their numbers.

v0001_first_tables.py    the first tables
v0002_notifications.py   the queue of notifications
"""
