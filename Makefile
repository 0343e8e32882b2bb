# make demo         the main job from end to end on the survey that comes with the package
# make quick        linters, import rules and the quick tests, in less than a minute
# make test         linters, types, import rules and the tests that catch most mistakes, in five minutes
# make test-all     linters, all types, import rules and all tests; make test-slow what make test leaves to it
# make test-wheel   wheel and sdist: what is in them, and the main job where nothing but the wheel is installed
# make test-plain   the same environment: what is said where an extra is absent
# make test-lowest  the quick tests and more, with the lowest versions that pyproject.toml allows
# make test-spark   the tests of the engine Spark, which installs it and needs a Java runtime
# make test-ray     the tests of the engine Ray, which installs it
# make adversary    attacks for as long as MINUTES=30 says: kills, damaged files, hostile text, wrong types, leaks
# make locked       an environment with exactly the versions of requirements-dev.txt; make lock writes that file anew
# make test-long    what make test tries on fewer examples than it could: the numbers that are promised (CONTRIBUTING.md)
# All make their own environment in .venv or build/ and install what is missing.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed
WHEEL := build/wheel
LOWEST := build/lowest

# figures by hand, files, schemas, statistics and methods on small tables: what most mistakes are caught by; what takes
# long, such as searches, audits, households, commands and pages, is left to make test
QUICK := tests/test_version_everywhere.py tests/test_catalogue.py tests/test_chain.py tests/test_outcome.py \
  tests/table tests/pair tests/risk tests/methods \
  $(addprefix --ignore-glob=tests/*/,test_bit_for_bit.py test_hierarchy.py test_linked.py test_wide_tables.py \
  test_values_beyond_memory.py test_key_classes.py test_reidentification*.py test_log_linear*.py test_rank_attack.py \
  test_robust_*.py test_attack_and_*.py test_class_*.py test_household*.py test_*in_parts.py test_date_bands.py \
  test_cart_*.py test_*suppression*.py test_optimal_*.py test_record_*.py test_hierarchies.py test_micro*methods.py)
# who is done takes over from the other: neighbours stay together, so that what a module makes is mostly made once
TWO := -n 2 --dist worksteal
MORE := tests/report/test_report.py tests/cli/test_commands.py tests/project

# two test processes on two cores: threads of BLAS within each would wait for one another (the commands do the same)
export OPENBLAS_NUM_THREADS := 1

# tests start hundreds of processes: none of them is to compile the package anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo quick test test-all test-slow lint types types-all tests test-long test-wheel test-plain test-lowest test-spark test-ray adversary locked lock coverage bench clean

demo: $(STAMP)
	$(BIN)/sfumato demo

quick: lint
	$(BIN)/python -m pytest $(TWO) $(QUICK)

test: lint types
	$(BIN)/python -m pytest $(TWO) -m 'not slow'

test-all: lint types-all tests

test-slow: types-all
	$(BIN)/python -m pytest $(TWO) -m slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(STAMP)
	$(BIN)/mypy src

types-all: $(STAMP)
	$(BIN)/mypy

tests: $(STAMP)
	$(BIN)/python -m pytest $(TWO)

test-long: $(STAMP)
	SFUMATO_KILLS=200 SFUMATO_TABLES=200 SFUMATO_RECORDS=100000 SFUMATO_KEY_SETS=6 $(BIN)/python -m pytest $(TWO) \
	  $(shell grep -lE 'how_often|every_engine' -r tests --include='test_*.py')

test-wheel: $(WHEEL)/installed
	SFUMATO_BUILT=$(CURDIR)/$(WHEEL) $(BIN)/python -m pytest tests/installed

test-plain: $(WHEEL)/installed
	SFUMATO_BUILT=$(CURDIR)/$(WHEEL) $(BIN)/python -m pytest tests/installed/test_absent_extras.py

$(WHEEL)/installed: $(STAMP) pyproject.toml $(shell find src -type f -not -path '*/__pycache__/*')
	rm -rf $(WHEEL)
	$(BIN)/python -m build --outdir $(WHEEL)/dist
	$(PYTHON) -m venv $(WHEEL)/plain
	$(WHEEL)/plain/bin/python -m pip install --quiet $(WHEEL)/dist/*.whl
	touch $@

test-lowest: $(STAMP)
	rm -rf $(LOWEST)
	$(PYTHON) -m venv $(LOWEST)
	$(BIN)/python tests/lowest_versions.py >$(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(LOWEST)/bin/python -m pip install --quiet --editable '.[all]' --group test --constraint $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pytest $(TWO) $(QUICK) $(MORE)

test-spark: $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[spark]'
	$(BIN)/python -m pytest tests/engine/test_spark.py

test-ray: $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[ray]'
	$(BIN)/python -m pytest tests/engine/test_ray.py

adversary: $(STAMP)
	PYTHONPATH=tests $(BIN)/python -m adversary --minutes $(or $(MINUTES),30) $(if $(SEED),--seed $(SEED))

coverage: $(STAMP)
	$(BIN)/python -m pip install --quiet 'pytest-cov>=6'
	$(BIN)/python -m pytest $(TWO) --cov=sfumato --cov-report=term:skip-covered

bench: $(STAMP)
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

$(STAMP): pyproject.toml src/sfumato/__init__.py
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	touch $(STAMP)

locked:
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --requirement requirements-dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $(STAMP)

lock: $(STAMP)
	$(BIN)/python -m pip install --quiet 'uv>=0.5'
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --extra all --group dev --output-file requirements-dev.txt pyproject.toml

clean:
	rm -rf .venv build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache sfumato-demo
