# Thin verbs over the Go tools. "make check" is what CI runs.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
BIN := $(CURDIR)/.tmp/bin
export PATH := $(BIN):$(PATH)
MODULES := proto pkg/agentloop services examples examples/workshops deploy/test

.PHONY: help
help: ## Show the verbs
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.PHONY: tools
tools: $(BIN)/.installed ## Install the pinned tools into .tmp/bin
$(BIN)/.installed: tools/go.mod tools/go.sum
	GOWORK=off GOBIN=$(BIN) go -C tools install tool
	touch $@

# Tests of the search cluster start this server: QUARTET_WEAVIATE=$PWD/.tmp/bin/weaviate-server go test ./services/search/...
WEAVIATE := v1.35.2
.PHONY: weaviate
weaviate: $(BIN)/weaviate-server ## Install the search cluster's server into .tmp/bin (takes minutes)
$(BIN)/weaviate-server:
	GOWORK=off GOBIN=$(BIN) go install github.com/weaviate/weaviate/cmd/weaviate-server@$(WEAVIATE)

# A test of traces sends spans through this: QUARTET_OTELCOL=$PWD/.tmp/collector/otelcol go test ./services/e2e -run TestABackend
.PHONY: collector
collector: ## Build an OpenTelemetry Collector into .tmp/collector (takes minutes)
	mkdir -p .tmp
	GOWORK=off go run go.opentelemetry.io/collector/cmd/builder@v0.162.0 --config=deploy/collector.yaml --skip-strict-versioning

# Tests of the manifests start this control plane, with the types of cert-manager and Prometheus' operator, and nodes that run nothing:
# QUARTET_CLUSTER=$PWD/.tmp/cluster go test ./deploy/test -run TestAnAPIServer
CLUSTER := $(CURDIR)/.tmp/cluster
KWOK := sigs.k8s.io/kwok@v0.8.0
CERT_MANAGER := github.com/cert-manager/cert-manager@v1.18.2
PROMETHEUS := github.com/prometheus-operator/prometheus-operator@v0.84.0
.PHONY: cluster
cluster: ## Install a Kubernetes control plane into .tmp/cluster (takes minutes)
	mkdir -p $(CLUSTER)/types
	GOWORK=off GOBIN=$(CLUSTER) go -C deploy/cluster install tool
	mv $(CLUSTER)/server $(CLUSTER)/etcd
	GOWORK=off GOBIN=$(CLUSTER) go install $(subst @,/cmd/kwok@,$(KWOK))
	cd / && go mod download $(KWOK) $(CERT_MANAGER) $(PROMETHEUS)
	mod="$$(go env GOMODCACHE)"; cat "$$mod/$(CERT_MANAGER)"/deploy/crds/crd-certificates.yaml > $(CLUSTER)/types/certificates.yaml; \
	cat "$$mod/$(CERT_MANAGER)"/deploy/crds/crd-issuers.yaml > $(CLUSTER)/types/issuers.yaml; \
	cat "$$mod/$(PROMETHEUS)"/example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml > $(CLUSTER)/types/podmonitors.yaml; \
	stages="$$mod/$(KWOK)/kustomize/stage"; : > $(CLUSTER)/stages.yaml; \
	for f in "$$stages"/node/fast/node-*.yaml "$$stages"/node/heartbeat-with-lease/node-*.yaml "$$stages"/pod/fast/pod-*.yaml; do \
		cat "$$f"; printf '\n---\n'; done >> $(CLUSTER)/stages.yaml

GENERATED := proto/gen proto/descriptors proto/reference.md proto/openapi services/internal/httpapi/gen services/internal/weaviate/weaviatepb
.PHONY: generate
generate: tools ## Generate Go, OpenAPI and the reference from the protos
	buf generate
	buf generate services/internal/weaviate/weaviatepb --template services/internal/weaviate/weaviatepb/buf.gen.yaml
	buf build -o proto/descriptors/quartet.binpb
	go run ./proto/descriptors/reference > proto/reference.md

.PHONY: test
test: ## Run all tests
	go test work

.PHONY: race
race: ## Run all tests of Go code that runs in the test's process with the race detector, in random order
	go test -race -shuffle=on -vet=off $$(go list work | grep -vE '/(examples/(clients|web)|deploy/test)$$')

# To keep what a run finds, commit the file that it names under testdata/fuzz. The fuzzer builds every dependency of
# FuzzRequests anew, with counters; the first time, that takes minutes and 3 GB. Without counters:
# go test ./services/suite -run TestRandomRequests -random 10m
FUZZTIME := 1m
READERS := ./services/internal/jsonl:FuzzRead ./services/internal/grounding:FuzzCheck ./services/internal/text:FuzzSentences \
	./services/router/classifier:FuzzClassify ./pkg/agentloop/texttools:FuzzParser
FUZZ := ./services/suite:FuzzRequests $(READERS)
.PHONY: fuzz
fuzz: ## Fuzz for FUZZTIME each, such as FUZZTIME=10m: the requests of all services, and readers of what others wrote
	for f in $(FUZZ); do go test "$${f%%:*}" -run '^$$' -fuzz "^$${f##*:}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x; done

.PHONY: fuzz-readers
fuzz-readers: # The fuzz targets that build quickly
	@echo $(READERS)

.PHONY: hold
hold: ## Replace, kill and fail over all services under load, then flood and fuzz them (ten minutes); CI runs a part
	go test -count=1 -timeout 30m ./services/e2e -run 'TestHold|TestAClusterFailsOver|TestARollOutForCallers' -v -args -hold 5m
	go test -count=1 ./services/internal/rpc -run 'CutOff|AreBounded|BeforeTheyAreDecoded' -v
	go test -count=1 -timeout 10m ./services/suite -run TestRandomRequests -random 2m
	$(MAKE) fuzz FUZZTIME=20s FUZZ="$(READERS)"

.PHONY: lint
lint: tools ## Check formats, protos, vet and staticcheck
	unformatted="$$(gofmt -l proto/gen pkg services examples deploy)"; if [ -n "$$unformatted" ]; then echo "not formatted: $$unformatted" >&2; exit 1; fi
	buf lint
	buf format --diff --exit-code
	go vet work
	staticcheck work

# A pull request is compared with the commit that it starts from: make breaking BASE=origin/main
BASE ?= HEAD~1
.PHONY: breaking
breaking: tools ## Check that no contract breaks callers of the commit BASE
	mkdir -p .tmp && rm -rf .tmp/base && mkdir .tmp/base
	git archive $(BASE) buf.yaml proto | tar -x -C .tmp/base
	buf breaking --against .tmp/base

# All modules have the versions of the workspace, so that nothing is compiled anew: after a change of one, go work sync, then go mod
# tidy in each.
.PHONY: modules
modules: ## Check that each module builds and is tidy by itself
	for m in $(MODULES); do (cd $$m && GOWORK=off go vet ./... && GOWORK=off go mod tidy -diff) || exit 1; done

.PHONY: attacks
attacks: ## Plant all public attack texts before a model that obeys them (minutes)
	QUARTET_ALL_ATTACKS=1 go test -count=1 -timeout 60m -run TestAModelThatObeysDoesNoHarm -v ./services/e2e

.PHONY: generated
generated: generate ## Check that the generated code is current
	git diff --exit-code -- $(GENERATED)
	test -z "$$(git status --porcelain -- $(GENERATED))"

.PHONY: check
check: generated lint modules test race ## Everything that CI runs

.PHONY: up
up: ## Run all six services here
	go run ./services/cmd/quartet up

.PHONY: image
image: ## Build the container image
	docker build -f deploy/Dockerfile -t quartet:dev .
