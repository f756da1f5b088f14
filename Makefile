# make build  binaries into bin/, with the interface
# make run    build, start, open
# make test   everything CI runs
# make soak   the log's promise under a million troubled requests and 5,000 kills; 20 minutes
# make bench  measurements, written to bench/results
# make dev    interface with hot reload against a running host

GO      ?= go
NPM     ?= npm
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BINS    := moeca moeca-gateway moeca-agent moeca-verify moeca-scripted moeca-demo-check
LDFLAGS := -s -w -X main.version=$(VERSION)
UI_SRC  := $(shell find ui/src ui/public ui/index.html ui/package.json ui/vite.config.ts -type f 2>/dev/null)

export GOTOOLCHAIN = local

.PHONY: build run test bench dev ui bin lint unit promise soak ui-test e2e gen clean setup

build: ui bin

bin:
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ $(addprefix ./cmd/,$(BINS))

ui: ui/dist/index.html

ui/node_modules/.installed: ui/package-lock.json
	cd ui && $(NPM) ci --no-audit --no-fund
	@touch $@

ui/dist/index.html: ui/node_modules/.installed $(UI_SRC)
	cd ui && $(NPM) run build
	@touch ui/dist/.gitkeep

run: build
	bin/moeca

test: build lint unit promise ui-test e2e

lint:
	@out=$$($(GO) tool gofumpt -l cmd internal ui images e2e bench 2>/dev/null); test -z "$$out" || { echo "gofumpt: $$out"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@git ls-files '*.sh' scripts/setup .ci/run | xargs -r -n1 bash -n

unit:
	$(GO) test -race -timeout 20m $$($(GO) list ./... | grep -v /e2e)

promise:
	$(GO) test ./internal/gateway -count=1 -run 'TestThePromise$$' -promise 100000 -timeout 10m

soak: bin
	$(GO) test ./internal/gateway -count=1 -v -run 'TestThePromise$$' -promise 1000000 -promise.seed $$(date +%s) -timeout 4h
	$(GO) test ./e2e -count=1 -v -run TestKilledGatewaysLoseNoRow -kills 5000 -timeout 2h

ui-test: ui/node_modules/.installed
	cd ui && $(NPM) run check && $(NPM) test

e2e: build
	$(GO) test -count=1 -timeout 30m ./e2e/...

bench: build
	$(GO) run ./bench

gen: bin
	bin/moeca openapi > ui/openapi.json
	cd ui && $(NPM) run gen

dev: bin ui/node_modules/.installed
	cd ui && $(NPM) run dev

setup:
	scripts/setup

clean:
	rm -rf bin ui/dist/assets ui/dist/index.html
