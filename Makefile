# make demo   the main job from end to end on the survey that comes with the package
# make test   linters, types, import rules and all tests
# make test-spark   the tests of the engine Spark, which installs it and needs a Java runtime
# Both make their own environment in .venv and install what is missing.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed

.PHONY: demo test test-spark lint types tests bench clean

demo: $(STAMP)
	$(BIN)/sfumato demo

test: lint types tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(STAMP)
	$(BIN)/mypy

tests: $(STAMP)
	$(BIN)/python -m pytest -n 2

test-spark: $(STAMP)
	$(BIN)/python -m pip install --quiet 'pyspark>=3.5'
	$(BIN)/python -m pytest tests/engine/test_spark.py

bench: $(STAMP)
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $(STAMP)

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache sfumato-demo
