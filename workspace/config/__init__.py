"""The settings of a workspace: `docyard.toml`, its tables and the taxonomy.

config.py    workspace settings
names.py     names of dialects and validation rules, without models
tables.py    the tables of links, protection, remotes, forges and validation
taxonomy.py  the keys that filter searches, and the values that a document has for them
toml.py      the TOML files of a workspace, and the lines of their errors
"""
