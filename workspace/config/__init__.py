"""The settings of a workspace: `docyard.toml`, its tables and the taxonomy.

config.py    workspace settings
tables.py    how a workspace's links are to be read
taxonomy.py  the keys by which searches can be filtered, and what a document's front matter and place …
toml.py      TOML files of a workspace, read with care
"""
