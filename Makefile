# Everything from a bare Debian with git, make and python3. The second time it takes seconds.
#
# The locks, after a change of pyproject.toml's dependencies (the second one with --extra dev too):
#   uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
#      --no-emit-index-url --no-emit-find-links --extra outside pyproject.toml -o requirements.lock

VENV := .venv
LOCK := requirements-dev.lock
READY := $(VENV)/installed-$(shell sha256sum $(LOCK) | cut -c1-12)

.PHONY: demo test test-all test-gpu test-vllm clean-lab

demo: $(READY)   ## watch a real engine go out to three real hosts
	@$(VENV)/bin/invoke dev.demo

test: $(READY)   ## check the code, run unit and lab tests
	@$(VENV)/bin/invoke dev.test

test-all: $(READY)   ## and the long ones
	@$(VENV)/bin/invoke dev.test --long

test-vllm: $(READY)   ## vLLM itself, installed once (3.5 GB); neither of the others runs it
	@$(VENV)/bin/invoke dev.vllm

test-gpu: $(READY)   ## on a machine with NVIDIA cards: what they say, eviction, NCCL
	@$(VENV)/bin/python tests/gpu/run.py

clean-lab: $(READY)   ## take the lab down, forget its root file systems
	@$(VENV)/bin/invoke dev.lab.clean

$(READY): $(LOCK)
	@sh dev/venv.sh $(VENV) $(LOCK)
	@touch $@
