package reset

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/reset"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/pki"
)

// inNode is set for this test program when it runs inside of a node: a verb and a scenario.
const inNode = "NETWRIGHT_RESET_IN_NODE"

func tools() []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range []string{"one", "two"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(name))}); err != nil {
			panic(err) // memory does not fail
		}
		_, _ = w.Write([]byte(name)) // as above
	}
	_ = w.Close() // as above
	return b.Bytes()
}

// TestMain makes a pass of the agent when this program runs in a node.
func TestMain(m *testing.M) {
	verb, which, inside := strings.Cut(os.Getenv(inNode), " ")
	if !inside {
		os.Exit(m.Run())
	}
	ctx := context.Background()
	p := reconcile.Pass{Host: host.Options{Root: "/"}, Log: zap.NewNop(), Assets: fetcher{}}
	var plan *report.Plan
	var err error
	switch verb {
	case "converge":
		want := earlier
		if which == "all" {
			want = everything()
		}
		plan, err = p.Converge(ctx, desired.FromTasks("n", want))
	case "prune":
		plan, err = p.Converge(ctx, desired.FromTasks("n", nil))
	case "forced", "reset": // with --changed=remove, and without
		plan, err = reset.Reset{Session: p.Session(), RemoveChanged: verb == "forced"}.Run(ctx)
	}
	if plan != nil {
		for _, n := range plan.Notes {
			fmt.Println(n.Level+":", n.Text)
		}
		for _, s := range plan.Steps {
			fmt.Println(s.Key, s.State, s.Message)
		}
	}
	if err != nil {
		fail("%s: %v", verb, err)
	}
	os.Exit(0)
}

// everything returns the tasks of all scenarios. Each effect is there once.
func everything() []tasks.Task {
	out := []tasks.Task{reload, identity()}
	for _, s := range scenarios {
		for _, t := range s.want {
			if t.Owns()[0] != reload.Owns()[0] {
				out = append(out, t)
			}
		}
	}
	return out
}

// Tasks of every kind are removed by prune and by reset, with and without a person who changed them
// meanwhile.
//
// The lines that keep it: pkg/tasks/path_baseline.go, Remove and Restore, and those of each kind;
// pkg/reconcile/ownership/removals.go and pkg/reset/decide.go, decideRemoval;
// pkg/tasks/link.go and pkg/tasks/mount.go, UsedBy.
func TestKindsInANode(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	needs.Tool(t, "ip", "nft")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ca := pki.New(t, "ca")
	pair := ca.Client("someone")
	l := lab{t, node.NewFabric(t).Node(t, node.Options{
		Name: "n", Address: "10.77.0.11", Copies: map[string]string{"/reset.test": self},
		Files: map[string]string{"/pki/ca": ca.PEM, "/pki/cert": pair.Cert, "/pki/key": pair.Key},
	})}
	l.each("before", func(s scenario) string { return s.before })
	before, units := l.n.Snapshot(), l.units()

	l.pass("converge all")
	l.each("after converge", func(s scenario) string { return s.is })
	said := l.pass("prune all")
	traces := l.traces(before)
	for i, s := range scenarios {
		contains(t, "prune", said, s.unpruned)
		for _, line := range traces {
			if len(s.unpruned) == 0 && regexp.MustCompile(fmt.Sprintf(`(ours|absent)%d\b|10\.%d\.`, i+1, i+1)).MatchString(line) && !strings.Contains(line, ": mode=4") {
				t.Errorf("prune left of %s: %s", s.name, line) // reset restores the times of directories
			}
		}
	}

	l.pass("converge all")
	l.each("after another converge", func(s scenario) string { return s.is })
	said = l.pass("reset all")
	lost := ""
	for i, s := range scenarios {
		contains(t, "reset", said, s.lost)
		if len(s.lost) > 0 {
			lost = fmt.Sprintf("ours%d", i+1)
		}
	}
	l.n.Shell(t.Context(), "nft list table inet ours19 | grep 10.19.113.0/24")
	for _, line := range l.traces(before) {
		anew := strings.Contains(line, ` nft {"table":`) && strings.Contains(line, `"ours19"`) // a new handle
		if !strings.Contains(line, lost) && !anew {
			t.Errorf("after reset: %s", line)
		}
	}
	if diff := cmp.Diff(strings.Split(units, "\n"), strings.Split(l.units(), "\n")); diff != "" {
		t.Errorf("after reset units changed:\n%s", diff)
	}
	l.meddle("reset all")
	l.n.Write("/run/lab/tidy", tidy, 0o644)
	l.n.Run(t.Context(), "/bin/sh", "/run/lab/tidy") // what is absent cannot be removed
	l.each("before, again", func(s scenario) string { return s.before })
	l.lose()
	l.n.Run(t.Context(), "/bin/sh", "/run/lab/tidy")
	l.each("before, once more", func(s scenario) string { return s.before })
	l.meddle("prune all")
	l.n.Run(t.Context(), "/bin/sh", "/run/lab/tidy")
	l.force()
}

// force resets over what a person changed meanwhile. What was changed is removed or restored as it
// was before the agent, except what holds something of the person's.
func (l lab) force() {
	l.t.Helper()
	l.each("before, at last", func(s scenario) string { return s.before })
	l.pass("converge all")
	l.each("a person", func(s scenario) string { return s.person })
	said := l.pass("forced all")
	l.each("forced", func(s scenario) string { return s.forced })
	contains(l.t, "forced", said, []string{"mount:/srv/ours10/mnt stays: it holds data", "link:ours14 stays: another program or person added the address 10.14.2.7/24 to it",
		"address:ours15/10.15.2.1/24 stays: somebody has replaced it with their own", "route:254/10.16.100.0/24 stays: somebody has replaced it with their own", "rule:ipv4 717 from 10.17.2.0/24 lookup 1017 stays: somebody has replaced it with their own"})
}

// lose empties the journal. Then reset refuses. After the next pass it names every key that stays,
// and all stay.
func (l lab) lose() {
	l.t.Helper()
	l.pass("converge all")
	l.n.Shell(l.t.Context(), ": >/var/lib/netwright/journal")
	before := l.n.Snapshot()
	if out := l.n.Run(l.t.Context(), "env", inNode+"=reset all", "/reset.test"); out.Code == 0 || !strings.Contains(out.Stdout, "unit:ours1.service") || !strings.Contains(out.Stdout, "Nothing was removed") {
		l.t.Errorf("reset without a ledger: exit %d\n%s", out.Code, out.Stdout)
	}
	for _, line := range l.traces(before) {
		l.t.Errorf("reset without a ledger: %s", line)
	}
	l.pass("converge all")
	said := l.pass("reset all")
	l.each("reset of what was lost", func(s scenario) string { return s.is })
	contains(l.t, "reset of what was lost", said, []string{
		"sysctl:net.ipv4.ip_forward stays: the ledger was lost", "mount:/srv/ours10/mnt stays", "unit:ours1.service stays", "link:ours12 stays",
		"nft:inet/ours12 stays", "rule:ipv4 712", "route:1012/10.12.100.0/24 stays", "file:/opt/bin/one stays", "toml:/etc/some.toml#a.y stays", "address:ours12/10.12.2.1/24 stays",
	})
}

// tidy removes what the scenarios left.
const tidy = `for i in $(seq 1 31); do
	systemctl disable --now ours$i theirs$i vendor$i static$i; systemctl unmask vendor$i absent$i
	umount /srv/ours$i/mnt /srv/theirs$i
	ip link del ours$i; ip link del theirs$i; ip rule del pref $((700 + i)); ip route flush table $((1000 + i)); nft delete table inet ours$i; nft delete table ip theirs$i
	rm -rf /srv/ours$i /srv/theirs$i /etc/ours$i /etc/theirs$i /etc/modules-load.d/ours$i.conf /opt/theirs$i /opt/ours$i
	cd /etc/systemd/system && rm -rf ours$i.* theirs$i.* static$i.* absent$i.* srv-ours$i* */theirs$i.service /usr/lib/systemd/system/vendor$i.service
done
rm -rf /run/netwright /var/lib/netwright /etc/some.toml /opt/link /opt/bin
systemctl daemon-reload`

// lab is the node of the scenarios.
type lab struct {
	t *testing.T
	n *node.Node
}

// pass makes a pass in the node, and returns its output.
func (l lab) pass(verb string) string {
	l.t.Helper()
	out := l.n.Run(l.t.Context(), "env", inNode+"="+verb, "/reset.test")
	if out.Code != 0 {
		l.t.Fatalf("%s: exit %d\n%s%s", verb, out.Code, out.Stdout, out.Stderr)
	}
	return out.Stdout
}

// each runs a script of every scenario, and fails for each script that fails.
func (l lab) each(when string, script func(scenario) string) {
	l.t.Helper()
	var all strings.Builder
	for i, s := range scenarios {
		if text := script(s); text != "" {
			fmt.Fprintf(&all, "( set -eu\n%s\n) >/tmp/out 2>&1 || { echo '%d %s:'; cat /tmp/out; }\n", text, i+1, s.name)
		}
	}
	l.n.Write("/run/lab/script", all.String(), 0o644)
	if out := l.n.Must(l.t.Context(), "/bin/sh", "/run/lab/script"); out != "" {
		l.t.Errorf("%s: Must returns %s", when, out)
	}
}

// meddle has a person change what was made. It checks that this stays as the person left it, and
// that the output names it.
func (l lab) meddle(verb string) {
	l.t.Helper()
	l.pass("converge all")
	l.each("a person", func(s scenario) string { return s.person })
	said := l.pass(verb)
	l.each("a person's, after "+verb, func(s scenario) string { return s.stays })
	for _, s := range scenarios {
		contains(l.t, verb, said, s.kept)
	}
}

func contains(t *testing.T, what, said string, words []string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(said, w) {
			t.Errorf("%s does not say %q:\n%s", what, w, said)
		}
	}
}

// traces returns the differences from a snapshot, without those of systemd and of the agent itself.
func (l lab) traces(before node.Snapshot) []string {
	return l.n.Traces(before, l.n.Snapshot(), func(path string) bool {
		return path == "/run" || path == "/tmp" || strings.HasPrefix(path, "/tmp/") || strings.HasPrefix(path, "/run/systemd") || strings.Contains(path, "/netwright")
	})
}

// units returns what systemctl says of all units that a scenario may touch.
func (l lab) units() string {
	return l.n.Shell(l.t.Context(), `systemctl list-unit-files --no-legend --no-pager | grep -v transient || true
		systemctl show -p Id,ActiveState,UnitFileState 'theirs*' 'vendor*' 'static*' |
			awk 'BEGIN { RS = "" } { print $1, $2, $3 }' | sort`) // systemd lists them as its table has them
}
