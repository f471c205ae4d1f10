// Package bench measures the agent beside its peers and beside the limits of the machine, in turns
// on one booted node. README.md says how to run it and how to read its output. No benchmark fails
// because of a time.
package bench

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/cache"
	"github.com/netwright/netwright/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

var (
	rounds    = flag.Int("rounds", 9, "runs of each contender in each scenario")
	patience  = flag.Duration("patience", 5*time.Second, "how long to wait before each run for a quiet machine")
	scenarios = flag.String("scenarios", "", "comma-separated scenarios to run (default: all)")
	hold      = flag.Bool("hold", false, "at the end keep the node, as the last scenario left it, until /bench/hold is removed from it")
)

// contender is a program that can do the job.
type contender struct {
	name     string
	command  []string
	before   []string // runs before the first sample of a scenario, for those that remember earlier runs
	plain    bool     // on a node without a distribution's modules.dep and a runtime
	unjudged bool     // it does no job
}

// scenario is a situation in which every contender is measured.
type scenario struct {
	name, title string
	small       int                                   // number of the job's small files
	zstd        bool                                  // the mirror has the archive as zstd
	wire        string                                // the web server's directory of it
	still       bool                                  // no service starts
	prepare     func(ctx context.Context, m *machine) // before every sample
	contenders  func(m *machine, peers []string) []contender
}

var (
	linked    = home + "/linked"
	agentOnce = []string{home + "/agent", "--once", "--store", storeDir, "--node", nodeName}
	limit     = home + "/limit"
	manifest  = home + "/manifest"
)

func ours(extra ...string) contender {
	command := append(slices.Clone(agentOnce), extra...)
	return contender{name: "agent", command: command, before: command}
}

// plainly returns the agent on a node without a distribution's modules.dep and a runtime.
func plainly() contender {
	c := ours()
	c.name, c.plain = "plain node", true
	return c
}

func cfengine(m *machine, policy string) []contender {
	if !m.has("/usr/bin/cf-agent") {
		return nil
	}
	command := []string{"/usr/bin/cf-agent", "-K", "-f", home + "/" + policy}
	return []contender{{name: "CFEngine", command: command, before: command}}
}

// outside returns the peers that the user named.
func outside(peers []string) []contender {
	var all []contender
	for _, p := range peers {
		command := []string{home + "/peers/" + p, home + "/job.json"}
		all = append(all, contender{name: p, command: command, before: command})
	}
	return all
}

var table = []scenario{
	{name: "noop", title: "nothing to do, recorded metadata believed", small: 40, contenders: func(m *machine, _ []string) []contender {
		return append(append(checking(), ours(), plainly()), cfengine(m, "fast.cf")...)
	}},
	{name: "verify", title: "nothing to do, every byte read", small: 40, contenders: func(m *machine, peers []string) []contender {
		return append(append(append(checking("-verify"), ours("--verify")), cfengine(m, "full.cf")...), outside(peers)...)
	}},
	{name: "drift", title: "one line was appended to one small file", small: 40,
		prepare: func(_ context.Context, m *machine) { m.spoil(drifting) },
		contenders: func(m *machine, peers []string) []contender {
			return append(append([]contender{ours()}, cfengine(m, "fast.cf")...), outside(peers)...)
		}},
	{name: "cold", title: "a bare node, no service to start", small: 40, still: true, prepare: bare, contenders: makers},
	{name: "cold-service", title: "a bare node, and a service to start", small: 40, prepare: bare, contenders: makers},
	{name: "cold-zstd", title: "a bare node, a mirror in zstd", small: 40, still: true, zstd: true, prepare: bare,
		contenders: func(m *machine, _ []string) []contender { return unpacking(m) }},
	{name: "cold-gbit", title: "a bare node, a mirror at 1 Gbit/s", small: 40, still: true, wire: slow, prepare: bare,
		contenders: func(m *machine, _ []string) []contender { return unpacking(m) }},
	{name: "many-1000", title: "nothing to do, 1,000 small files", small: 1_000, contenders: many},
	{name: "many-10000", title: "nothing to do, 10,000 small files", small: 10_000, contenders: many},
	{name: "version", title: "to say its version", contenders: func(m *machine, _ []string) []contender {
		all := []contender{{name: "limit", command: []string{limit, "nothing"}, unjudged: true},
			{name: "linked", command: []string{linked, "nothing"}, unjudged: true}, {name: "agent", command: []string{home + "/agent", "version"}, unjudged: true}}
		if m.has("/usr/bin/cf-agent") {
			all = append(all, contender{name: "CFEngine", command: []string{"/usr/bin/cf-agent", "--version"}, unjudged: true})
		}
		return all
	}},
}

// bare removes what the former contender made.
func bare(ctx context.Context, m *machine) { m.reset(ctx) }

// unpacking returns the limit and the agent on an empty node, where the archive decides the time,
// and the limit for a contender that can undo its work.
func unpacking(m *machine) []contender {
	apply := []string{limit, "apply", manifest, m.job.url(), m.job.archive.Sum, binDir}
	return []contender{{name: "limit", command: apply}, {name: "agent", command: agentOnce},
		{name: "undoable", command: append(slices.Clone(apply), home+"/agent")}}
}

// makers returns all contenders that can converge an empty node.
func makers(m *machine, peers []string) []contender {
	return append(append(unpacking(m), coldly(cfengine(m, "full.cf"))...), coldly(outside(peers))...)
}

func many(m *machine, peers []string) []contender {
	return append(append(append(checking(), ours()), cfengine(m, "bulk.cf")...), outside(peers)...)
}

// checking returns the limit where nothing is to be done, and the limit with what the agent links.
func checking(flags ...string) []contender {
	args := append(append([]string{"check"}, flags...), manifest)
	return []contender{{name: "limit", command: append([]string{limit}, args...)},
		{name: "linked", command: append([]string{linked}, args...)}}
}

// coldly leaves out the first run, since on an empty node no contender remembers anything.
func coldly(all []contender) []contender {
	for i := range all {
		all[i].before = nil
	}
	return all
}

// BenchmarkNodeJob measures everything once; -rounds says how often each. `make bench` runs it.
// With -short it measures what is possible in a minute, as CI does, without CFEngine, except what
// flags ask for.
func BenchmarkNodeJob(b *testing.B) {
	ctx := b.Context()
	if testing.Short() {
		brief := map[string]string{"rounds": "3", "patience": "300ms", "scenarios": "noop,verify,drift,version"}
		flag.Visit(func(f *flag.Flag) { delete(brief, f.Name) })
		for name, value := range brief {
			if err := flag.Set(name, value); err != nil {
				b.Fatal(err)
			}
		}
	}
	programs, peers := build(b)
	r := newResults(b, programs)
	var m *machine
	for _, s := range table {
		if !wants(s.name) {
			continue
		}
		if m == nil {
			m, r.packed = newMachine(b, programs), plugins(b).Size
		}
		m.play(ctx, s, peers, r)
	}
	if wants("daemon") {
		measureDaemon(b, r, programs)
	}
	r.write(b)
	if *hold && m != nil {
		m.wait(ctx)
	}
}

// wants says whether -scenarios names this one, or none at all.
func wants(scenario string) bool {
	return *scenarios == "" || slices.Contains(strings.Split(*scenarios, ","), scenario)
}

// play runs all contenders in turns, so that other work of the machine slows all of them.
func (m *machine) play(ctx context.Context, s scenario, peers []string, r *results) {
	m.t.Helper()
	if s.small > 0 {
		m.reset(ctx)
		if m.job = newJob(m.t, plugins(m.t), s.small); s.still {
			m.job.unit = ""
		}
		if m.job.wire = s.wire; s.zstd {
			m.job.archive = *m.job.archive.Zstd
		}
		m.offer(m.job.inputs())
	}
	all := s.contenders(m, peers)
	defer m.furnish(ctx, true)
	for _, c := range all {
		if c.before != nil {
			if warm := m.measure(ctx, c.before...); warm.Code != 0 {
				m.t.Errorf("%s: %s: exit %d: %s", s.name, c.name, warm.Code, m.said())
			}
		}
	}
	for round := range *rounds {
		for _, c := range all {
			if s.prepare != nil {
				s.prepare(ctx, m)
			}
			m.furnish(ctx, !c.plain)
			got := m.measure(ctx, c.command...)
			got.Scenario, got.Contender, got.Round = s.name, c.name, round
			if !c.unjudged {
				got.Wrong = m.judge(ctx)
			}
			if got.Code != 0 || got.Wrong != "" {
				m.t.Logf("%s: %s: round %d: exit %d: %s\n%s", s.name, c.name, round, got.Code, got.Wrong, m.said())
			}
			r.add(got)
		}
	}
}

// inputs returns what the contenders read.
func (j job) inputs() map[string]string {
	files := j.documents()
	files[home+"/manifest"] = j.manifest()
	files[home+"/job.json"] = j.description()
	files[home+"/full.cf"] = j.policy(true, false)
	files[home+"/fast.cf"] = j.policy(false, false)
	files[home+"/bulk.cf"] = j.policy(false, true)
	files[home+"/fetch.sh"] = j.fetchScript()
	for _, f := range j.files {
		if filepath.Dir(f.path) == smallDir {
			files[home+f.path] = f.content
		}
	}
	return files
}

// spoil edits a file as a person does by hand.
func (m *machine) spoil(path string) {
	m.t.Helper()
	f, err := os.OpenFile(filepath.Join(m.Root(), path), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		m.t.Fatalf("spoiling a file: %v", err)
	}
	defer f.Close()
	if _, err := f.WriteString("drift\n"); err != nil {
		m.t.Fatalf("spoiling a file: %v", err)
	}
}

// build builds the programs for the node, stripped as in a release, by path in the node. It also
// lists the peers that the user brought: the executables in $NETWRIGHT_PEERS, each called with the
// path of job.json.
func build(b *testing.B) (programs map[string]string, peers []string) {
	b.Helper()
	dir := b.TempDir()
	programs = map[string]string{home + "/agent": program.Agent(b)}
	for name, args := range map[string][]string{"limit": {"./limit"}, "launch": {"./launch"}, "keeper": {"./keeper"},
		"linked": {"-overlay", linking(b, dir), "./limit"}} {
		out := filepath.Join(dir, name)
		cmd := exec.Command("go", append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out}, args...)...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("building %s: %v\n%s", name, err, text)
		}
		programs[home+"/"+name] = out
	}
	from := os.Getenv("NETWRIGHT_PEERS")
	if from == "" {
		return programs, nil
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		b.Fatalf("looking for peers: %v", err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			peers = append(peers, e.Name())
			programs[home+"/peers/"+e.Name()] = filepath.Join(from, e.Name())
		}
	}
	return programs, peers
}

// linking writes the overlay with which the limit imports all packages of others that the agent
// imports, and calls none of them.
func linking(b *testing.B, dir string) (overlay string) {
	b.Helper()
	list, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "../cmd/agent").Output()
	if err != nil {
		b.Fatalf("listing what the agent imports: %v", err)
	}
	source := "package main\n"
	for _, path := range strings.Fields(string(list)) {
		if !strings.HasPrefix(path, "github.com/netwright/") && !slices.Contains(strings.Split(path, "/"), "internal") {
			source += fmt.Sprintf("import _ %q\n", path)
		}
	}
	at, err := filepath.Abs("limit/linked.go")
	if err != nil {
		b.Fatal(err)
	}
	imports, overlay := filepath.Join(dir, "linked.go"), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {at: imports}})
	if err != nil {
		b.Fatal(err)
	}
	for name, data := range map[string][]byte{imports: []byte(source), overlay: text} {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return overlay
}

// results has the samples, and what else is measured once.
type results struct {
	started time.Time
	load    string
	size    int64 // the agent's
	packed  int64 // the archive's, as gzip
	samples []sample
	figures map[string]float64 // of the daemon, by the name of their goal
}

func newResults(b *testing.B, programs map[string]string) *results {
	b.Helper()
	info, err := os.Stat(programs[home+"/agent"])
	if err != nil {
		b.Fatalf("looking at the agent: %v", err)
	}
	return &results{started: time.Now(), load: load(), size: info.Size(),
		figures: map[string]float64{}}
}

func (r *results) add(s sample) { r.samples = append(r.samples, s) }

// write prints the table, and keeps it with every sample in the cache directory.
func (r *results) write(b *testing.B) {
	b.Helper()
	text := r.text()
	fmt.Print(text)
	root, err := cache.Dir()
	if err != nil {
		b.Fatal(err)
	}
	dir := filepath.Join(root, "bench", r.started.UTC().Format("20060102-150405"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	var lines strings.Builder
	encoder := json.NewEncoder(&lines)
	for _, s := range r.samples {
		if err := encoder.Encode(s); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "samples.jsonl"), []byte(lines.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "table.md"), []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	fmt.Println("kept in", dir)
}
