# The commands of this project. `make` alone explains them; each is a script in scripts/.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo demo-stop test install bench fuzz fmt lint

PG ?= 15 18
PG_CONFIG ?= pg_config
SECONDS_PER_TARGET ?= 60

help:
	@echo 'make demo       build the extension, start a throw-away Postgres and take a tour of the sample tables'
	@echo 'make demo-stop  stop it and remove what it wrote'
	@echo 'make test       run every test against Postgres 15 and 18;  make test PG=17: against that one'
	@echo 'make install    install into your own Postgres;  PG_CONFIG=/path/to/pg_config names it'
	@echo 'make bench      compare scan speed with a heap table and other readers'
	@echo 'make fuzz       feed the readers made-up files (nightly Rust);  SECONDS_PER_TARGET=600: for so long each'
	@echo 'make fmt        format the code'
	@echo 'make lint       check formatting and clippy'
	@echo
	@echo 'demo and test install what they need first (Debian packages, Rust) and leave your own Postgres alone:'
	@echo 'private servers and clusters live in /var/cache/iceberg_fdw (root) or ~/.cache/iceberg_fdw;'
	@echo 'ICEBERG_FDW_STATE names another directory.'

demo:
	@scripts/demo

demo-stop:
	@scripts/cluster stop demo

test:
	@scripts/test $(PG)

install:
	@scripts/install '$(PG_CONFIG)'

bench:
	@scripts/setup --with-java
	@scripts/bench

fuzz:
	@SECONDS_PER_TARGET=$(SECONDS_PER_TARGET) scripts/fuzz

fmt:
	@. scripts/common && cd "$$ROOT" && cargo fmt --all

lint:
	@scripts/setup
	@scripts/lint $(PG)
