"""The configuration of a server: a TOML file and the environment. Boundary of `pydantic_settings`.

edit.py       changes settings in the file, and keeps its comments
fields.py     the settings as a list, and values without secrets
file.py       reads the file and the variables; errors with file, line, and the nearest setting
origins.py    the origin of each setting: a line of the file, a variable, or the default
settings.py   the settings as values
"""
