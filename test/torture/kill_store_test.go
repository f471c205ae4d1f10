package torture

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"

	"github.com/netwright/netwright/pkg/statestore/trust"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/pki"
	"github.com/netwright/netwright/test/storetest"
	"github.com/netwright/netwright/test/toxic"
	"github.com/netwright/netwright/test/trap"
)

// fleet is a store behind HTTPS with signed generations, and an image whose agent reads the store.
type fleet struct {
	image
	key    minisign.PrivateKey
	memory *storetest.MapStore
	server *toxic.Server
	conf   string
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{image: image{agent: agent(t), root: t.TempDir()}, key: private, memory: new(storetest.MapStore), conf: t.TempDir()}
	ca := pki.New(t, "store")
	pair := ca.Server("store", "127.0.0.1")
	certificate, err := tls.X509KeyPair([]byte(pair.Cert), []byte(pair.Key))
	if err != nil {
		t.Fatal(err)
	}
	f.server = toxic.New(t, toxic.Files(f.memory), &tls.Config{Certificates: []tls.Certificate{certificate}})
	_, port, err := net.SplitHostPort(f.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	text, err := public.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(text))
	for name, content := range map[string]string{
		"ca.pem": ca.PEM, "agent.yaml": fmt.Sprintf("store: https://127.0.0.1:%s\ncluster: %s\nnode: node-1\nstoreCA: %s/ca.pem\ntrustedKeys: [%s]\n", port, storetest.Cluster, f.conf, lines[len(lines)-1]),
	} {
		if err := os.WriteFile(filepath.Join(f.conf, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// publish publishes documents as a generation.
func (f *fleet) publish(generation int64, d documents) {
	objects := map[string][]byte{}
	for name, content := range d {
		content = strings.ReplaceAll(content, cluster, storetest.Cluster)
		if strings.HasPrefix(name, "assets/") {
			f.memory.Set(name, []byte(content))
			continue
		}
		objects[name] = []byte(content)
	}
	all := storetest.Publication(generation, objects, true)
	for name, data := range all {
		if name != "manifest" {
			f.memory.Set(name, data)
		}
	}
	f.memory.Set("manifest", trust.Join(all["manifest"], trust.Sign(f.key, all["manifest"], "")))
}

// away makes the store fail, or answer again.
func (f *fleet) away(gone bool) {
	f.server.Fail(nil)
	if gone {
		f.server.Fail(toxic.Status(http.StatusForbidden, 0)) // the client does not try this again
	}
}

// once runs the agent, in the trap if decide is set.
func (f *fleet) once(t testing.TB, decide func(trap.Call) trap.Decision) trap.Outcome {
	t.Helper()
	command := []string{f.agent, "--conf", f.conf + "/agent.yaml", "--root", f.root, "--once"}
	if decide != nil {
		o, err := trap.Run(t.Context(), command, os.Environ(), decide)
		if err != nil {
			t.Fatalf("%v\n%s", err, o.Stderr)
		}
		return o
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return trap.Outcome{Code: cmd.ProcessState.ExitCode(), Stdout: string(said)}
}

// taken returns the generation of the last good configuration.
func (f *fleet) taken(t testing.TB) int64 {
	t.Helper()
	var good struct{ Generation int64 }
	data, err := os.ReadFile(filepath.Join(f.root, "var/lib/netwright/last-good.json"))
	if err == nil {
		err = json.Unmarshal(data, &good)
	}
	if err != nil {
		t.Error(err)
	}
	return good.Generation
}

// The agent is killed while it takes a new generation from a store behind a network. At the next
// start there is no store. The node is then completely as one of the two generations says, keys
// included, and that one is recorded as the last good. When the store answers again, the node has
// the new generation, and needs no store for it.
//
// What keeps it: pkg/ledger/last_good.go SaveLastGood (what is named is there first, then one
// rename; Tidy last), pkg/reconcile/carry_out.go converge: keep comes at the end of a pass, and
// what a killed run had staged goes before anybody asks whether a directory is empty (unfinished;
// red without it, tried).
func TestKilledWhileTakingAGeneration(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	f := newFleet(t)
	ca, other := pki.New(t, "etcd"), pki.New(t, "etcd two")
	first := calicoDocuments(t, "v1", ca.PEM, ca.Client("calico-client"))
	second := calicoDocuments(t, "v1", other.PEM, other.Client("calico-client"))
	second["cluster.yaml"] = strings.Replace(second["cluster.yaml"], "  networking:", extras("two", "256")+"  networking:", 1)
	begin := func() {
		f.clear(t)
		f.away(false)
		f.publish(1, first)
		if o := f.once(t, nil); o.Code != 0 {
			t.Fatalf("the first generation: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
		}
	}
	begin()
	trees := map[int64]tree{1: f.tree(t)}
	f.publish(2, second)
	o := f.once(t, pass)
	if o.Code != 0 || f.taken(t) != 2 {
		t.Fatalf("undisturbed: exit %d, generation %d\n%s%s", o.Code, f.taken(t), o.Stdout, o.Stderr)
	}
	trees[2] = f.tree(t)
	tried, lost, with := 0, 0, map[int64]int{}
	// The agent is killed with a file staged in a directory that the old generation does not know,
	// and at any call.
	at := []func(trap.Call) bool{func(c trap.Call) bool { return strings.HasPrefix(c.Name, "rename") && c.Target == "cluster" }}
	for _, n := range points(o.Calls, "last-good.json") {
		at = append(at, func(c trap.Call) bool { return c.N == n })
	}
	for _, here := range at {
		begin()
		f.publish(2, second)
		killed := f.once(t, func(c trap.Call) trap.Decision { return trap.Decision{Kill: here(c)} })
		if !killed.Killed {
			continue
		}
		tried++
		generation := f.taken(t)
		with[generation]++
		var broken []string
		f.away(true)
		o := f.once(t, nil)
		if said := o.Stdout + o.Stderr; o.Code != 1 || !strings.Contains(said, fmt.Sprintf("this is the last good configuration, generation %d", generation)) {
			broken = append(broken, fmt.Sprintf("without the store: exit %d\n%s", o.Code, said))
		}
		for _, d := range differs(f.tree(t), trees[generation]) {
			broken = append(broken, fmt.Sprintf("without the store, of generation %d: %s", generation, d))
		}
		f.away(false)
		if o := f.once(t, nil); o.Code != 0 || f.taken(t) != 2 {
			broken = append(broken, fmt.Sprintf("with the store: exit %d, generation %d\n%s%s", o.Code, f.taken(t), o.Stdout, o.Stderr))
		}
		f.away(true)
		before := f.tree(t)
		_ = f.once(t, nil) // without the store this is always an error
		broken = append(append(broken, differs(f.tree(t), trees[2])...), differs(f.tree(t), before)...)
		if len(broken) > 0 {
			lost++
			t.Errorf("killed at %v:\n%s", killed.Calls[len(killed.Calls)-1], strings.Join(broken, "\n"))
		}
	}
	report(t, "kill: generation taken from afar", tried, lost, "of %d calls; then without a store %d times of the old generation, %d of the new one", len(o.Calls), with[1], with[2])
}
