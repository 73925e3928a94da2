# Each target makes the environment that it needs. `make discover` runs a discovery, `make sandbox` a live one to watch.
# `make unit` runs the quick tests, `make lint` the static checks, `make test` everything, `make bench` the benchmarks,
# `make docs` builds the documentation site.

PYTHON ?= python3
ARGS ?=
DEVICES ?= 200000
KILLS ?= 300

# Modules go to whichever process is free, longest first, and stay whole: tests of one share what is dear to start or to read.
PYTEST = .venv/test/bin/python -m pytest --dist loadfile --no-loadscope-reorder

.PHONY: discover sandbox test suite lint ruff-check ruff-format mypy unit durations docs browser java node proxy soak bench sbom dist lock clean

discover: .venv/discover/ready
	.venv/discover/bin/neologue discover $(ARGS)

# A service, simulated people and the pages to watch them, until Ctrl-C.
sandbox: .venv/serve/ready
	.venv/serve/bin/neologue sandbox $(ARGS)

# Every check. mypy keeps one processor busy while many tests wait for something, so both run at once.
test: browser java node proxy .venv/test/ready
	$(MAKE) --no-print-directory -j 2 lint suite

suite: .venv/test/ready
	$(PYTEST) -n auto

# The documentation site, to be opened from build/site/index.html; a broken link or reference is an error.
docs: .venv/docs/ready
	NO_MKDOCS_2_WARNING=1 .venv/docs/bin/mkdocs build

# The tests that need no server process, browser, cluster or database server, and take a moment each.
unit: .venv/test/ready
	$(PYTEST) -n auto -m "not service and not browser and not java and not cluster and not postgres and not slow"

# Measures how long each test takes, which decides what is slow and in which order they run; on a quiet machine.
durations: browser java node proxy .venv/test/ready
	mkdir -p build
	$(PYTEST) -n 2 --junitxml build/junit.xml
	.venv/test/bin/python tests/durations.py build/junit.xml > tests/durations.txt

# The static checks; .pre-commit-config.yaml runs them one by one.
lint: ruff-check ruff-format mypy

ruff-check: .venv/test/ready
	.venv/test/bin/ruff check .

ruff-format: .venv/test/ready
	.venv/test/bin/ruff format --check .

mypy: .venv/test/ready
	.venv/test/bin/mypy

# The long form of the tests of the service: whole campaigns, and hundreds of kills.
soak: .venv/test/ready
	cd tests && ../.venv/test/bin/python -m service.soak $(DEVICES) $(KILLS)

# The browser tests need Chromium and its driver. They are installed where that may be done; if not, the tests say so.
browser:
	@if ! command -v chromedriver > /dev/null && command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get -qq update && apt-get -qq install -y chromium chromium-driver || true; \
	fi

# The tests of devices/java need a compiler, and are as loud without one.
java:
	@if ! command -v javac > /dev/null && command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get -qq update && apt-get -qq install -y openjdk-17-jdk-headless || true; \
	fi

# The device in devices/minimal runs in Node.js.
node:
	@if ! command -v node > /dev/null && command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get -qq update && apt-get -qq install -y nodejs || true; \
	fi

# The tests of deploy/ run nginx with the shipped configuration, and let systemd judge the units.
proxy:
	@if ! { PATH="$$PATH:/usr/sbin" command -v nginx && command -v systemd-analyze; } > /dev/null && command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get -qq update && apt-get -qq install -y nginx-light systemd || true; \
	fi

# The wheels and the source distribution, the same bytes wherever they are built, with their digests and where they come from.
dist: .venv/test/ready
	.venv/test/bin/python deploy/build.py dist

# What the environment of the service is made of, as CycloneDX and as a list of licences, of which only known ones pass.
sbom: .venv/serve/ready .venv/test/ready
	.venv/test/bin/python deploy/sbom.py .venv/serve/bin/python build

# In the environment of the tests, which has a PostgreSQL server for the service to be measured with.
bench: .venv/test/ready .venv/peers/ready
	.venv/test/bin/python -m benchmarks $(ARGS)

# Peers are never a reason to fail: what does not install is reported, and tried again the next time.
.venv/peers/ready: requirements/peers.txt
	$(PYTHON) benchmarks/installation.py requirements/peers.txt .venv/peers

.venv/%/ready: requirements/%.lock pyproject.toml
	$(PYTHON) -m venv --clear .venv/$*
	.venv/$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/$*.lock
	.venv/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

# Writes the exact versions that the environments install; needs uv. Extras stay in the names: without them pip looks for the
# newest version of what another package wants with an extra, finds no hash for it, and installs nothing.
lock:
	uv pip compile --no-strip-extras pyproject.toml --extra files --extra report --universal --generate-hashes --no-annotate --no-header --python-version 3.11 -o requirements/discover.lock
	uv pip compile --no-strip-extras --group docs --universal --generate-hashes --no-annotate --no-header --python-version 3.11 -o requirements/docs.lock
	uv pip compile --no-strip-extras pyproject.toml --extra test --universal --generate-hashes --no-annotate --no-header --python-version 3.11 -o requirements/test.lock
	uv pip compile --no-strip-extras pyproject.toml --extra server --extra postgres --universal --generate-hashes --no-annotate --no-header --python-version 3.11 -o requirements/serve.lock

clean:
	rm -rf .venv build dist
