"""The configuration of a server: a TOML file and the environment. Boundary of `pydantic_settings`.

file.py       reads the file and the variables; errors with file, line, and the nearest setting
settings.py   the settings as values
"""
