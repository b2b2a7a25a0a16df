"""Calls with other names of arguments: names that models guess, and names of earlier versions.

near_names.py       near names of arguments, each read as the field that it means
schema_versions.py  the version of the tools' schemas, and arguments that were renamed
"""
