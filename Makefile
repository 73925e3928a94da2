# Three commands do all the set-up: `make discover` runs a discovery, `make test` every check, `make bench` the benchmarks.

PYTHON ?= python3
ARGS ?=

.PHONY: discover test bench lock clean

discover: .venv/discover/ready
	.venv/discover/bin/neologue discover $(ARGS)

test: .venv/test/ready
	.venv/test/bin/ruff check .
	.venv/test/bin/ruff format --check .
	.venv/test/bin/mypy
	.venv/test/bin/python -m pytest -n auto --dist worksteal

bench: .venv/discover/ready .venv/peers/ready
	.venv/discover/bin/python -m benchmarks $(ARGS)

# Peers are never a reason to fail: what does not install is reported, and tried again the next time.
.venv/peers/ready: requirements/peers.txt
	$(PYTHON) benchmarks/installation.py requirements/peers.txt .venv/peers

.venv/%/ready: requirements/%.lock pyproject.toml
	$(PYTHON) -m venv --clear .venv/$*
	.venv/$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/$*.lock
	.venv/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

# Writes the exact versions that the environments install; needs uv.
lock:
	uv pip compile pyproject.toml --extra report --universal --generate-hashes --no-annotate --no-header --python-version 3.11 -o requirements/discover.lock
	uv pip compile pyproject.toml --extra test --universal --generate-hashes --no-annotate --no-header --python-version 3.11 -o requirements/test.lock
	uv pip compile pyproject.toml --extra server --extra postgres --extra report --universal --generate-hashes --no-annotate --no-header --python-version 3.11 -o requirements/serve.lock

clean:
	rm -rf .venv build dist
