"""The files of a release, built from the last commit and checked; `make dist` calls this package.

__main__.py           `python -m release [FOLDER]`
bill_of_materials.py  the bill of materials: the locked libraries, as CycloneDX JSON
bundle.py             the MCP bundle, packed by the tool of its specification
distributions.py      the wheel and the source archive, built twice with equal bytes
installation.py       the wheel in a new environment, and the first commands of a user
registry_entry.py     the entry of the MCP registry: `server.json`
site_versions.py      the versions of the documentation site: `latest`, and a page that lists them
"""
