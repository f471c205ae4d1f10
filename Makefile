# The same commands on a fresh machine, on a developer's and in CI: they need Go and make, and get the rest themselves.

# The version is in the file VERSION alone: that of the last release. What is built later has the number of commits since VERSION was
# changed, the commit, and -dirty where files differ from it, as `git describe` would say it of a tag.
VERSION := v$(shell cat VERSION)$(shell at=$$(git log -1 --format=%H -- VERSION 2>/dev/null) && [ -n "$$at" ] && \
	{ git describe --always --abbrev=40 --exclude '*' | grep -q "^$$at" || echo "-$$(git rev-list --count $$at..HEAD)-g$$(git rev-parse --short HEAD)"; \
	git diff --quiet HEAD -- || echo -dirty; } | tr -d '\n')
CACHE := .cache
# A linter is built once for each Go and each pin.
TOOLS := $(CACHE)/tools/$(shell { go env GOVERSION; cat tools/go.mod tools/go.sum; } | sha256sum | cut -c 1-16)
TESTFLAGS ?=
# The compiler inlines functions only in packages whose code runs for each object, byte, file or task, and in one that initialises its variables by functions.
# Inlining in all packages made the program 3.6 MB larger (31.5 MB, not 27.9), and saved 2 % of the time of a pass that finds nothing to do. Functions begin
# at multiples of 4 bytes, an instruction of arm64. With the linker's 32 the program is 0.5 MB larger.
INLINED := runtime/... internal/... sync/... bytes strings slices sort strconv unicode/... reflect syscall os io/... bufio time fmt path/... \
	hash/... crypto/sha256 crypto/internal/... github.com/goccy/... github.com/klauspost/... go.opentelemetry.io/... \
	$(addprefix github.com/netwright/netwright/pkg/,archive/... inflate/... graph/... ledger/... statestore/... host \
	host/hostfs/... host/kernel/... host/systemd/...)
AGENT := go build -trimpath -buildvcs=false -gcflags=all=-l $(INLINED:%=-gcflags=%=) -ldflags '-s -w -funcalign=4 -X main.version=$(VERSION)'
# Without cgo throughout: packages are compiled once for all tests. The race detector needs cgo.
export CGO_ENABLED = 0
# Properties are tried on the same cases each time. RAPID_SEED=0 draws others, and so does `make torture`.
export RAPID_SEED ?= 1

# What `make quick` compares with: the commit that a change starts from.
BASE ?= $(shell git merge-base HEAD main 2>/dev/null || echo HEAD)

.PHONY: help quick build run test test-all test-kubernetes test-images test-release lint bench storm drift witness facts torture release clean houselint

help: ## the targets, one line each
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/\1\t\2/p' Makefile | expand -t 18

# Vet and unit tests of the packages below cmd and pkg that differ from BASE. It boots no node. The witness takes rules out by their lines: they must be
# there still.
quick: ## vet and the unit tests of the packages that you changed (BASE=commit), under a minute
	@packages=$$(go run -C tools -buildvcs=false ./changed .. $(BASE)) && \
	if [ -z "$$packages" ]; then echo "no package differs from $(BASE)"; else set -x; go vet $$packages && go test -vet=off $$packages && \
	go test -vet=off -run TestOverlaysApply ./test/witness; fi

# Static, the same bytes wherever it is built.
build: ## bin/agent, static
	$(AGENT) -o bin/agent ./cmd/agent

# What test/program calls for the tests: they run programs that are built as those of a release are.
.PHONY: program
program:
	@$(AGENT) -tags '$(TAGS)' -o '$(OUT)' './$(DIR)'

# Converges a node in temporary namespaces and shows that it works.
run: build ## converge a node in temporary namespaces, and show that it works
	go run -buildvcs=false ./examples/run -agent bin/agent

# Every test there is, suites side by side. Without root, what needs it is skipped and says so; with CI=true nothing is skipped.
# SUITES=ci adds what takes a build of Kubernetes or of another architecture; names of suites (tools/suites) run these alone.
SUITES ?= test
RUN_SUITES = go run -C tools -buildvcs=false ./suites -flags '$(TESTFLAGS)'
test: ## every test: unit, property, namespaces, booted nodes, a virtual machine
	test/setup.sh || [ "$$(id -u)" != 0 ]
	$(RUN_SUITES) $(SUITES)

# The same, and in full what `make test` samples: hours.
test-all: export RAPID_SEED = 0
test-all: export NETWRIGHT_FUZZTIME = $(FUZZTIME)
test-all: ## the same, in full what `make test` samples: hours
	test/setup.sh
	$(RUN_SUITES) all

# One linter: vet's analyzers, staticcheck's, pinned in tools/go.mod, and the house rules of tools/house, each with its reason. A package is read and typed
# once for all of them, and go's cache keeps what was found.
# Compilers and linters end before their garbage matters: to collect it is a quarter of what they compute.
lint: export GOGC = off
lint: export GOMEMLIMIT = 1GiB
lint: VET = -vettool=$(CURDIR)/$(TOOLS)/houselint
lint: houselint ## vet, staticcheck, the house rules, formatting, links
	go vet $(VET) ./...
	go vet -C tools $(VET) ./...
	go vet -C packaging $(VET) ./...
	go test -C tools -count 1 ./repo # it reads files that the cache of results does not watch

houselint:
	go build -C tools -buildvcs=false -o $(CURDIR)/$(TOOLS)/houselint ./houselint

# Figures, for people: no test asserts on time.
bench: ## benchmarks, for people
	go test -run '^$$' -bench . -benchmem -timeout 90m $(TESTFLAGS) ./pkg/... ./bench/...

# A thousand nodes poll one S3 server, which goes away and comes back: requests and bytes of a node, and of the fleet in each second.
storm: ## a thousand nodes poll one S3 server
	NETWRIGHT_STORM=1000 go test -count 1 -timeout 20m -v $(TESTFLAGS) ./test/storm

# What `make test` changes by hand on a booted node once by each hand, 20 times, with how soon it is right again.
drift: ## how soon what somebody changes is right again
	test/setup.sh
	NETWRIGHT_DRIFT=full go test -count 1 -timeout 60m -v -run 'TestDrift(IsRepaired|WaitsForNobody)' $(TESTFLAGS) ./test/e2e

# Documents drawn at random, applied on booted nodes: none may cost a node its network, as a witness
# outside sees it. Then again without the rules that keep it. Two hours. RAPID_SEED=N draws those of a
# run again, TESTFLAGS='-document N' one of them alone.
witness: export RAPID_SEED = 0
witness: ## 400 random documents on booted nodes, judged from outside: two hours
	test/setup.sh
	NETWRIGHT_WITNESS=400 go test -count 1 -parallel 9 -timeout 4h -v ./test/witness -nodes 8 $(TESTFLAGS)

# Whether upstream still has what the networks' rows say, in checkouts that you bring: CHECKOUTS has
# OWNER/NAME of each. FACTSFLAGS=-write writes upstream's newest lines and commits into the file.
CHECKOUTS ?= $(error say CHECKOUTS=DIR, where upstream's repositories are)
facts: ## hold the rows' sources against upstream's code (CHECKOUTS=dir)
	go run -C tools -buildvcs=false ./facts -checkouts '$(abspath $(CHECKOUTS))' $(FACTSFLAGS) $(CURDIR)/pkg/model/network/sources/*.txt

# Against a real Kubernetes API server, kubelet, kube-proxy and daemons that ask the API, which are built once: 22 CPU minutes and 2 GB of memory. CI runs it; `make test` says that it does not.
test-kubernetes: ## against a real API server, kubelet and kube-proxy
	test/setup.sh
	$(RUN_SUITES) kubernetes kubelet proxy daemons

# Images and first boots on whole machines, emulated: forty-five boots of one to three minutes, two at a time on two processors: an hour. `make test` boots one of them.
test-images: ## images and first boots on emulated machines: an hour
	test/setup.sh
	-command -v packer >/dev/null || apt-get install -qq -y --no-install-recommends packer # not every release has it
	NETWRIGHT_IMAGES=1 go test -count 1 ./images
	NETWRIGHT_IMAGES=1 go test -count 1 -timeout 180m -v -run '^Test(Images|SELinux|FactsOnEC2)$$' $(TESTFLAGS) ./test/e2e

# What `make release` gives out for arm64, run by an emulator: the agent is built for it, two minutes of both processors. CI runs it.
test-release: ## the arm64 packages, run by an emulator
	test/setup.sh
	$(RUN_SUITES) release

# What `make test` samples, in full: killed at every system call, 200 power cuts for each file system, each fuzzer for FUZZTIME. Hours.
FUZZTIME ?= 10m
torture: export RAPID_SEED = 0
torture: build ## killed at every system call, power cuts, fuzzers: hours
	test/setup.sh
	NETWRIGHT_TORTURE=full NETWRIGHT_FUZZTIME=$(FUZZTIME) go test -C test/torture -count 1 -timeout 12h $(TESTFLAGS) # without a package it shows what the test prints
	NETWRIGHT_WITNESS=2000 go test -count 1 -parallel 9 -timeout 12h -v ./test/witness -nodes 8

# What is given out, below bin/release: programs, packages, their sums, and with KEY=FILE (of `agent store keygen`) a signature. Twice the same bytes.
# With GPG_KEY=FILE the packages are signed, too, and are the same bytes but for that.
RELEASE := bin/release
KEY ?=
GPG_KEY ?=
release: export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct)
release: ## programs, packages, sums and signatures below bin/release
	rm -rf $(RELEASE) $(CACHE)/manual
	GOARCH=amd64 $(AGENT) -o $(RELEASE)/netwright-linux-amd64 ./cmd/agent
	GOARCH=arm64 $(AGENT) -o $(RELEASE)/netwright-linux-arm64 ./cmd/agent
	go run -buildvcs=false -ldflags '-X main.version=$(VERSION)' ./cmd/agent manual $(CACHE)/manual
	go run -C packaging -buildvcs=false . -version '$(VERSION)' -time $$SOURCE_DATE_EPOCH -manual $(CURDIR)/$(CACHE)/manual -out $(CURDIR)/$(RELEASE) \
		$(if $(KEY),-key '$(abspath $(KEY))') $(if $(GPG_KEY),-gpg-key '$(abspath $(GPG_KEY))') \
		-program amd64=$(CURDIR)/$(RELEASE)/netwright-linux-amd64 -program arm64=$(CURDIR)/$(RELEASE)/netwright-linux-arm64

clean: ## remove bin and the caches
	rm -rf bin $(CACHE)
