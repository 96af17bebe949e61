# make env: the pinned environment in .venv · make demo: one answer in a minute · make run: the embedded default · make test: every test · make checks: the long checks · make docs: the pages as a site · make trust: simulations
.DEFAULT_GOAL := help
.PHONY: help env kubernetes demo run test checks lint types style docs lock bench trust clean

PYTHON ?= python3.11
BIN := .venv/bin
# The lock holds the publisher's CPU build of torch. Where PIP_FIND_LINKS names a folder that has it,
# it is taken from there; elsewhere from the publisher's CPU index. The hashes decide either way.
TORCH := $(if $(PIP_FIND_LINKS),--find-links "$$PIP_FIND_LINKS",--extra-index-url https://download.pytorch.org/whl/cpu --index-strategy unsafe-best-match)
CORES ?= all
export OMP_NUM_THREADS := 1
# Where compiled modules may not be kept, every job would compile what it imports: 5 CPU seconds each.
unexport PYTHONDONTWRITEBYTECODE

help:
	@sed -n 1p Makefile

env: .venv/.ready

.venv/.ready: requirements.lock envs/uv.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "Frugal needs $(PYTHON) on the PATH; install Python 3.11 or run: make env PYTHON=/path/to/python3.11"; exit 1; }
	@case "$$PWD" in *[\":\$$\`\\]*) echo "Frugal cannot be installed here: the path of this folder has one of : \" \$$ \` \\, which PATH or the scripts in .venv/bin cannot hold; move it"; exit 1;; esac
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r envs/uv.txt
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes --no-deps $(TORCH) -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	$(BIN)/python -m frugal compile
	-$(BIN)/python -m frugal compile --arithmetic portable
	touch $@

# The executor of profiles/kubernetes. Not in `make env`: Snakemake imports every plugin at each start.
kubernetes: env
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes --no-deps \
		-r envs/kubernetes.txt

# One answer on a made-up table with gaps: 40 seconds on two cores.
demo: env
	@PATH="$$PWD/$(BIN):$$PATH" snakemake --cores $(CORES) --quiet all --config table=docs/examples/clinic.yaml -- decide
	@echo "The answer in short:" && sed -n 1p results/decide/clinic/verdict.txt

run: env
	PATH="$$PWD/$(BIN):$$PATH" snakemake --cores $(CORES) all report

# Every check that a change must pass; the last line is pytest's. A module's tests share a worker and
# what they built (not by loadgroup: pytest-xdist 3.8 silently forgets its groups under pytest 9.2).
# Files keep their order, in which the long ones begin, so that both workers end together.
test: env
	$(MAKE) --no-print-directory --jobs 2 --output-sync lint
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations 20 -q

# The long form of every check of .ci/, hours in all; their short forms are a part of .ci/run. What
# each said is kept beside its folder.
checks: env
	@mkdir -p build/checks; failed=""; for script in .ci/check_*.py; do name=$$(basename $$script .py); \
		rm -rf build/checks/$$name; status=0; $$script build/checks/$$name > build/checks/$$name.txt 2>&1 || status=$$?; \
		echo "$$name: status $$status, $$(tail -n 1 build/checks/$$name.txt)"; \
		case $$status in 0|77) ;; *) failed="$$failed $$name";; esac; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

lint: types style

types: env
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright

style: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/snakefmt --check Snakefile workflow/Snakefile workflow/rules
	$(BIN)/python envs/render.py --check
	PATH="$$PWD/$(BIN):$$PATH" snakemake --lint

# The pages as a site in build/site; opened as a file it asks for nothing outside. A link that leads nowhere is an error.
docs: env
	$(BIN)/python -m sphinx -q -E -W --keep-going -n -b html -c docs/site -d build/doctrees . build/site
	@echo "Open build/site/index.html"

bench: env
	@for script in tests/benchmarks/*.py; do name=$$(basename $$script .py); echo "== $$name"; $(BIN)/python -m tests.benchmarks.$$name; done

# Simulations of what intervals, the check of the graph and ranges promise: docs/results/trust.md. An
# hour and a half; goes on where it stopped.
trust: env
	nice $(BIN)/python -m tests.trust.graph
	nice $(BIN)/python -m tests.trust.coverage 400 build/trust/coverage
	nice $(BIN)/python -m tests.trust.hidden_causes --out build/trust/hidden_causes.csv
	nice $(BIN)/python -m tests.trust.treatment

# Of torch the publisher's CPU build; pyproject.toml takes any.
lock: env
	echo torch==2.13.0+cpu | $(BIN)/uv pip compile pyproject.toml --all-extras --constraint - --generate-hashes --no-emit-index-url --no-emit-find-links \
		--python-version 3.11 --custom-compile-command "make lock" $(TORCH) --quiet -o requirements.lock
	@echo '# What `make env` installs everything else with. Made by `make lock`.' > envs/uv.txt
	echo uv | $(BIN)/uv pip compile - --generate-hashes --no-emit-index-url --no-emit-find-links \
		--python-version 3.11 --no-header --no-annotate --quiet >> envs/uv.txt
	@echo '# What profiles/kubernetes needs beside requirements.lock (make kubernetes). Made by `make lock`.' \
		> envs/kubernetes.txt
	echo snakemake-executor-plugin-kubernetes | $(BIN)/uv pip compile - --constraint requirements.lock \
		--generate-hashes --no-emit-index-url --no-emit-find-links --python-version 3.11 --no-header \
		--no-annotate $(TORCH) --quiet >> envs/kubernetes.txt
	$(BIN)/python envs/render.py

clean:
	rm -rf results/[!R]* logs benchmarks .snakemake
