# Needs Go and git, and a C compiler for race only. Every target works from a
# fresh clone; Go downloads modules as they are needed.

.DEFAULT_GOAL := help
.PHONY: help build demo test race check spec bench bench-peers bench-durable fuzz sim kills mutants

# git refuses a clone that belongs to another user unless told otherwise.
GIT     := git -c safe.directory='*'
VERSION ?= $(shell $(GIT) describe --tags --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 10s
SEEDS   ?= 5000
KILLS   ?= 200
ROUNDS  ?= 7

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-17s %s\n", $$1, $$2}'

build: ## build bin/gamma, one static binary
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION)" -o bin/gamma ./cmd/gamma

demo: build ## build and run the demo; needs no key and no network
	bin/gamma demo

test: ## run all tests
	go test -timeout 15m ./...

race: ## run all tests under the race detector (GAMMA_SIM_SEEDS=N: how many simulations)
	CGO_ENABLED=1 go test -race -timeout 20m ./...

check: ## gofmt, go vet, staticcheck and the repository's own rules
	@bad=$$(find . -name node_modules -prune -o -name '*.go' -print0 | xargs -0 gofmt -l); \
	if [ -n "$$bad" ]; then echo "not formatted, run gofmt -w on:"; echo "$$bad"; exit 1; fi
	go vet ./...
	go vet -tags crashpoints ./internal/crashpoint
	go tool -modfile=tools/go.mod staticcheck ./...
	go tool -modfile=tools/go.mod staticcheck -tags crashpoints ./internal/crashpoint
	go vet -tags peers ./internal/peers
	go tool -modfile=tools/go.mod staticcheck -tags peers ./internal/peers
	go test ./internal/repotest

spec: ## write doc/spec.md: which tests show which rule
	go test -count=1 ./internal/repotest -run '^TestRepository$$/^spec index$$' -update

bench: ## run all benchmarks
	go test -run '^$$' -bench . -benchmem -timeout 60m ./...

bench-peers: ## compare gamma with Pi from npm, ROUNDS (7) runs each; needs npm and a registry once
	go test -tags peers -count=1 -run '^$$' -bench '^BenchmarkPeers$$' -benchtime $(ROUNDS)x -timeout 60m ./internal/peers

bench-durable: ## compare workflows with DBOS, River and Temporal, ROUNDS (7) turns each; needs PostgreSQL's programs
	cd internal/peers/durable && GOFLAGS=-mod=mod go test -tags peers -count=1 -run '^$$' -bench '^BenchmarkDurable$$' -benchtime $(ROUNDS)x -timeout 120m .

fuzz: ## run each fuzz target for FUZZTIME (10s)
	@grep -rEo --include='*_test.go' --exclude-dir=node_modules --exclude-dir=testdata '^func Fuzz[A-Za-z0-9_]+' . | \
	sed -E 's|/[^/]*:func | |' | sort | while read -r dir name; do \
		echo "$$dir $$name"; \
		go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$dir" || exit 1; \
	done

sim: ## simulate crashes with SEEDS seeds (5000), without the race detector
	GAMMA_SIM_SEEDS=$(SEEDS) go test -count=1 -timeout 60m -v -run '^TestR1_(Simulation|Runs)$$' ./internal/sim ./internal/sim/runs

kills: ## kill the real binary KILLS times (200) in the middle of runs and check what is left
	GAMMA_KILLS=$(KILLS) go test -count=1 -timeout 60m -v -run '^TestR2_(Workflow|Step)?Kills$$' ./internal/e2e

mutants: ## switch rules off one by one and see the simulation find it
	go test -tags mutants -count=1 -timeout 60m -v -run '^TestR1_(Run)?Mutants$$' ./internal/sim ./internal/sim/runs
