# Every target sets up what it needs in .venv; a second run skips that.
#   make test PYTHON=python3.12        another interpreter, for the first set-up
#   make test ARGS='-k pump -x'        more arguments for pytest; the same for demo, bench and soak
#   make demo SPEED=4                  four times real time

PYTHON ?= python3
SPEED  ?= 1
JOBS   ?= auto
ARGS   ?=
OLDEST ?= 1.8.7
OLDEST_PIPECAT ?= 1.13.0
NEXT ?= 2.0.0b1
PYTHONS ?= python3.11 python3.13
OLD_TESTS := $(addprefix tests/livekit/test_,contract.py scenarios.py promises.py realtime.py tools.py)
NEXT_TESTS := $(addprefix tests/livekit/test_,closing.py corrections.py drained.py duplex.py executed.py handoff_words.py handoffs.py input_required.py tasks_in_tools.py)
OLD_PIPECAT_TESTS := $(addprefix tests/pipecat/test_pipecat_,conversations.py functions.py governor.py realtime.py scenarios.py speculation.py)

# Modules are compiled once, not in each of the many processes of the tests.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help test exhaustive oldest oldest-pipecat next examples demo demo-pipecat room room-pipecat talk room-server room-test coverage check diagrams docs bench mutation soak crash pipecat lines release clean

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

help:
	@echo 'make test      run the tests (JOBS=1: in one process)'
	@echo 'make exhaustive  run those that take long: explorations, random conversations, real models'
	@echo 'make oldest    the scenarios with the oldest livekit-agents that is supported'
	@echo 'make oldest-pipecat  conversations and scenarios with the oldest Pipecat that is supported'
	@echo 'make next      the same as oldest, and handoffs and tools, with the pre-release of livekit-agents 2.0'
	@echo 'make examples  LiveKit'"'"'s own examples on AgentSession and on TurnSession: do they agree?'
	@echo 'make coverage  how much of the code the tests run, branches included'
	@echo 'make demo      play a recorded conversation, write ./demo-out/'
	@echo 'make demo-pipecat  the same in a Pipecat pipeline, write ./pipecat-out/'
	@echo 'make room      the same in a LiveKit room over WebRTC, write ./room-out/ (builds a server)'
	@echo 'make room-pipecat  the same with a Pipecat pipeline and a headless Chromium over WebRTC'
	@echo 'make talk      talk to the agent of examples/room in your browser'
	@echo 'make room-test the tests in a real room, in real time'
	@echo 'make check     lint, format, types, proofs of the flows, are generated files up to date'
	@echo 'make diagrams  draw all shipped flows again, and prove them again'
	@echo 'make docs      the documentation as a site, in build/docs/; a broken link is an error'
	@echo 'make bench     measure speed (ARGS=docs: write docs/performance.md)'
	@echo 'make mutation  make small mistakes in the machine and the pump; do the tests notice?'
	@echo 'make soak      random conversations, new ones at each run, five minutes (docs/soak.md)'
	@echo 'make crash     kill a worker at every record of a conversation; another continues (docs/store.md)'
	@echo 'make pipecat   the tests on Pipecat, and its conversations alone and governed (340 MB, once)'
	@echo 'make lines     the lines of Python by folder and by part of runtime/, tests apart'
	@echo 'make release   build, check and try what is published, on the oldest and newest Python, write dist/'
	@echo 'make clean     remove .venv and all caches'

test: .venv/.test .venv/.browser
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(ARGS)

# A few tests take most of the time, so they are shared out one by one, not file by file.
exhaustive: .venv/.test .venv/.browser
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m 'exhaustive or hypothesis' --hypothesis-profile exhaustive $(ARGS)

oldest next: .venv/.test
	$(BIN)/turnfsm livekit $(if $(filter next,$@),$(NEXT),$(OLDEST)) -- \
		-m pytest -n $(JOBS) -m 'not room' -p no:cacheprovider $(OLD_TESTS) $(if $(filter next,$@),$(NEXT_TESTS)) $(ARGS)

demo: .venv/.demo
	$(BIN)/turnfsm demo --speed $(SPEED) $(ARGS)

demo-pipecat: .venv/.demo .venv/.pipecat
	$(BIN)/turnfsm demo --host pipecat --speed $(SPEED) --out pipecat-out $(ARGS)

# The room needs a livekit-server: LIVEKIT_URL, LIVEKIT_SERVER, one on the PATH, or built with Go.
room: .venv/.test .venv/.demo room-server
	$(BIN)/python -m room $(ARGS)

room-pipecat: .venv/.test .venv/.demo .venv/.browser .venv/.webrtc
	$(BIN)/python -m room --host pipecat $(ARGS)

talk: .venv/.test .venv/.demo room-server
	$(BIN)/python -m room talk $(ARGS)

room-server:
	@test -n "$$LIVEKIT_URL" || $(PYTHON) -m room.build

room-test: .venv/.test .venv/.demo .venv/.browser room-server
	$(BIN)/python -m pytest -n 0 -m room tests/room $(ARGS)

examples: .venv/.test
	@$(BIN)/python tests/ordinary/fetch.py
	$(BIN)/python tests/ordinary/play_examples.py

coverage: .venv/.test .venv/.browser
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n $(JOBS) --dist loadfile -m 'not room' $(ARGS)
	$(BIN)/coverage combine --quiet && $(BIN)/coverage report

check: .venv/.test .venv/.lint
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
	@$(BIN)/pip-audit --local --skip-editable --progress-spinner off --output .venv/audit.txt || { cat .venv/audit.txt; exit 1; }
	@! grep -q 'could not be audited' .venv/audit.txt || echo 'check: this package index knows no advisories; pip-audit skipped what it could not ask for'
	$(BIN)/turnfsm check specs/*.yaml && $(BIN)/turnfsm schema --check && $(BIN)/turnfsm diagrams --check

diagrams: .venv/.test
	$(BIN)/turnfsm schema && $(BIN)/turnfsm diagrams
	$(BIN)/turnfsm check specs/*.yaml --record specs/proofs.json >/dev/null

docs: .venv/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html -c docs . build/docs
	@echo 'build/docs/index.html'

bench: .venv/.test
	$(BIN)/python -m bench $(ARGS)

mutation: .venv/.test .venv/.mutation
	$(BIN)/python -m bench.mutation

soak: .venv/.test
	$(BIN)/python tests/soak $(ARGS)

crash: .venv/.test
	$(BIN)/python tests/store/crash.py $(ARGS)

pipecat: .venv/.test .venv/.pipecat
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m 'not room' tests/pipecat examples/pipecat tests/soak/test_pipelines.py $(ARGS)
	$(BIN)/turnfsm compare --host pipecat

# The oldest Pipecat lies before the installed one on the path; the two need the same packages.
oldest-pipecat: .venv/.pipecat
	test -d .venv/pipecat-$(OLDEST_PIPECAT) || $(PIP) --no-deps --target .venv/pipecat-$(OLDEST_PIPECAT) pipecat-ai==$(OLDEST_PIPECAT)
	PYTHONPATH=.venv/pipecat-$(OLDEST_PIPECAT) $(BIN)/python -m pytest -n $(JOBS) -p no:cacheprovider $(OLD_PIPECAT_TESTS) $(ARGS)

# Tests are also beside the examples. The links in turnfsm/ count once, in fsm/ and runtime/.
lines:
	@git ls-files '*.py' | xargs wc -l | awk '$$2 == "total" {next} \
	  {depth = split($$2, at, "/"); test = $$2 ~ /(^tests|\/test_)/; sum[test ? "tests" : at[1]] += $$1; all[test] += $$1} \
	  at[1] == "runtime" && depth > 2 {sum["runtime/" at[2]] += $$1} \
	  END {for (part in sum) printf "%7d  %s\n", sum[part], part | "sort -rn"; close("sort -rn"); \
	  printf "%7d  outside tests, %d in tests\n", all[0], all[1]}'

# What is published is tried from the wheel alone: no file of this folder is on the path.
release: .venv/.release
	rm -rf dist build/release
	$(BIN)/python -m build --outdir dist && $(BIN)/twine check --strict dist/*
	for python in $(PYTHONS); do \
	  $$python -m venv build/release/$$(basename $$python) && cd build/release/$$(basename $$python) && \
	  bin/python -m pip --disable-pip-version-check install --quiet "$$(echo $(CURDIR)/dist/*.whl)[livekit]" && \
	  bin/turnfsm --version && bin/turnfsm check turn >/dev/null && bin/turnfsm demo --text && cd $(CURDIR) || exit 1; \
	done
	$(BIN)/cyclonedx-py environment build/release/$(notdir $(firstword $(PYTHONS))) --pyproject pyproject.toml --output-reproducible --output-file dist/turnfsm.cdx.json
	@ls dist

clean:
	rm -rf .venv build dist docs/playground/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is touched last, so that an interrupted set-up is taken up again.
.venv/.test .venv/.browser .venv/.lint .venv/.docs .venv/.mutation .venv/.pipecat .venv/.webrtc .venv/.release: .venv/.%: pyproject.toml .venv/.pip
	@echo 'setting up .venv: $*'
	@$(PIP) --editable . --group $*
	@touch $@

.venv/.demo: pyproject.toml .venv/.pip
	@echo 'setting up .venv: demo (about 700 MB, once)'
	@$(PIP) --editable '.[demo]'
	@touch $@

# --group came with pip 25.1
.venv/.pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo 'turnfsm needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11' >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo 'turnfsm needs the venv module of Python: apt-get install python3-venv' >&2; exit 2; }
	@echo 'setting up .venv'
	@$(PYTHON) -m venv --clear .venv
	@$(PIP) --upgrade 'pip>=25.1'
	@touch $@
