"""The files of a release, built from the last commit and tried; `make dist` calls this package.

__main__.py           `python -m release [FOLDER]`: the steps, and their times
archives.py           ZIP archives with equal bytes for equal files
bill_of_materials.py  the bill of materials: the locked libraries, as CycloneDX JSON
bundle.py             the MCP bundle, packed by the tool of its specification and started as its manifest says
distributions.py      the wheel and the source archive, built twice with equal bytes
installation.py       a distribution in a new environment: its size, commands of a user, calls of a client
programs.py           processes, the variables of a new user, and an MCP client
registry_entry.py     the entry of the MCP registry, `server.json`, valid and started as it says
server.schema.json    what the registry requires of the fields of the entry
site.py               the documentation as a site: no dead link, and two pages opened in a browser
site_versions.py      the versions of the documentation site: `latest`, and a page that lists them
upgrade.py            a repository, an index and settings of version 0.1.0, opened by the new wheel
"""
