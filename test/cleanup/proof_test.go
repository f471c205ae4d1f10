// Package cleanup proves that the agent removes everything that a network leaves, and nothing else.
// For each network a script without code of the agent makes every item that the network is known to
// leave, among items whose names differ by one letter and items of other owners.
package cleanup

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/program"
)

var update = flag.Bool("update", false, "write testdata/shared.txt")

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// clean and pin build the programs of a proof.
func clean(t *testing.T) string { return program.Build(t, "test/cleanup/clean") }
func pin(t *testing.T) string   { return program.Build(t, "test/cleanup/pin") }

// scripts has the files of a proof, beside its two programs.
var scripts = []string{"state.sh", "host.sh", "prelude.sh", "decoys.sh", "prove.sh", "pairs.sh", "cgroup", "networks", "modules", "proxy"}

// networks returns the networks with a script in this directory of testdata.
func networks(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/" + dir + "/*.sh")
	if err != nil || len(files) == 0 {
		t.Fatalf("scripts: %v, %v", files, err)
	}
	var out []string
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".sh"); name != "decoys" {
			out = append(out, name)
		}
	}
	return out
}

// proved fails for each FAIL in a proof's output, and returns its lines.
func proved(t *testing.T, out string, names []string) {
	t.Helper()
	t.Log("\n" + out)
	if strings.Contains(out, "FAIL") {
		t.Error("see FAIL above")
	}
	for _, n := range names {
		if !strings.Contains(out, "LINES "+n+" made ") {
			t.Errorf("%s: not proved", n)
		}
	}
}

// lab boots a node with all that a proof needs.
func lab(t *testing.T) *node.Node {
	t.Helper()
	needs.Root(t)
	copies := map[string]string{"/lab/clean": clean(t), "/lab/pin": pin(t)}
	for _, name := range scripts {
		copies["/lab/"+name] = filepath.Join("testdata", name)
	}
	return node.NewFabric(t).Node(t, node.Options{Name: "n1", Address: "10.77.0.11", Copies: copies})
}

func TestNetworksLeaveNothingInANode(t *testing.T) {
	t.Parallel()
	names := networks(t, "networks")
	proved(t, lab(t).Run(t.Context(), "/bin/sh", "-c", "cd /lab && sh ./prove.sh "+strings.Join(names, " ")+" 2>&1").Stdout, names)
}

// What kube-proxy left of all its modes is removed, and kubelet's chains with similar names stay.
func TestKubeProxyLeavesNothingInANode(t *testing.T) {
	t.Parallel()
	const name = "kubeProxy"
	proved(t, lab(t).Run(t.Context(), "/bin/sh", "-c", "cd /lab && SCRIPTS=proxy sh ./prove.sh "+name+" 2>&1").Stdout, []string{name})
}

// Some networks share names, tables and marks. testdata/shared.txt lists, for a person to read,
// what the clean-up of one network finds of another. If the other is the next network and its
// things are kept, the clean-up removes nothing of them. `make test` has the hosts of some
// networks, so that each network that finds something of another does so on one of them. Every
// network is looked for on each host.
func TestNetworksBesideEachOther(t *testing.T) {
	t.Parallel()
	const golden = "testdata/shared.txt"
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Collect(strings.Lines(string(text)))
	// A network that only waits for kubenet's things finds the same.
	names := slices.DeleteFunc(networks(t, "networks"), func(n string) bool { return n == "external" || n == "gcp" })
	hosts := names
	if os.Getenv("NETWRIGHT_PAIRS") != "full" && !*update {
		hosts = forEachShare(want)
		want = slices.DeleteFunc(want, func(line string) bool { return !slices.Contains(hosts, strings.Fields(line)[0]) })
	}
	out := lab(t).Run(t.Context(), "/bin/sh", "-c", "cd /lab && PAIRS='"+strings.Join(names, " ")+"' sh ./prove.sh "+strings.Join(hosts, " ")+" 2>&1").Stdout
	if strings.Contains(out, "FAIL") {
		t.Errorf("see FAIL:\n%s", out)
	}
	for _, n := range hosts {
		if !strings.Contains(out, "LINES "+n+" made ") {
			t.Errorf("%s: not proved", n)
		}
	}
	var shared []string
	for line := range strings.Lines(out) {
		if words, is := strings.CutPrefix(line, "SHARED "); is {
			shared = append(shared, words)
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(strings.Join(shared, "")), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, shared); diff != "" {
		t.Errorf("on whose host, who finds what (-want +got; -update writes it):\n%s", diff)
	}
}

// forEachShare picks hosts. Each network that finds something of another on any host does so on one
// of them.
func forEachShare(lines []string) []string {
	finds := map[string][]string{}
	for _, line := range lines {
		words := strings.Fields(line)
		if host, other := words[0], words[1]; !slices.Contains(finds[host], other) {
			finds[host] = append(finds[host], other)
		}
	}
	return slices.Sorted(slices.Values(cover(finds)))
}
