package torture

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/pki"
	"github.com/netwright/netwright/test/trap"
)

// scenario is one course of events on a node in which the agent is killed. Another one is a line in
// [scenarios].
type scenario struct {
	name   string
	theirs map[string]string               // files of a person from before the agent, by path
	from   []documents                     // the former configurations, one after the other; none: a new node
	store  documents                       // the configuration of the killed run
	begin  func(*bench, testing.TB)        // more that makes the state before it
	after  string                          // the base name of a file after whose rename the agent is always killed
	args   []string                        // of the agent; nil: --once
	sets   [][]string                      // files that are all old or all new
	needs  map[string][]string             // for a file, the files that are in place before it
	alone  []string                        // what runs by itself after the kill. It may fail, and leaves the node all old or all new; nil: nothing
	clear  func(*bench, testing.TB)        // what a person does before the next run
	ready  func(*bench, testing.TB) string // a further check at the end; "": it succeeds
	fresh  bool                            // in the end the node is as before the agent, times included
}

// bench is a booted node on which the agent is killed again and again.
type bench struct {
	t      *testing.T
	f      *node.Fabric
	n      *node.Node
	leader string
	halves int // kills that left a set partly old and partly new until the next start

	under []string // the command that starts the agent

	fresh     tree // the state before the agent ever ran, with times
	freshLive string
}

// The released agent is killed at every call that changes something, on a booted node: in the first
// converge, in changes that replace programs, certificates, units and a unit's settings, and in the
// scenarios of kill_ways_test.go. At the kill, before anything runs again, each file is completely
// old or completely new. Files of a set are all old or all new, except after a kill between two
// adjacent renames of one batch. The next start completes that set before anything else, without a
// store. The next run then ends as without the kill, with each wanted restart once, and the run
// after that changes nothing.
//
// What keeps it: pkg/host/hostfs/batch.go Commit: announce (sets; red without it, tried),
// pkg/reconcile/execute/apply.go visit: try (a restart is done once; red without it, tried),
// pkg/host/hostfs/batch.go open (write beside the target; O_TRUNC on the target turns it red),
// pkg/host/hostfs/batch.go publish, pkg/host/hostfs/stale_files.go RemoveStale (staged files),
// pkg/reconcile/execute/apply.go Apply: Effects.Save before the first change (restarts).
func TestKillMatrix(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	all := append(scenarios(t), ways(t)...)
	const nodes = 3 // nodes that share the scenarios and run at once
	for i := range nodes {
		t.Run(fmt.Sprintf("node %d", i+1), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			for j := i; j < len(all); j += nodes {
				t.Run(all[j].name, func(t *testing.T) { b.kill(t, all[j]) })
			}
		})
	}
}

func scenarios(t testing.TB) []scenario {
	bridge := nodeDocuments(t, "v1", baseSpec+"  networking:\n    bridge: {}\n"+harmlessExtras("one", "128"))
	changed := nodeDocuments(t, "v2", baseSpec+"  networking:\n    bridge: {}\n    cni: {confDir: /etc/cni/conf.d}\n"+harmlessExtras("two", "256"))
	ca := pki.New(t, "etcd")
	calico := calicoDocuments(t, "v1", ca.PEM, ca.Client("calico-client"))
	other := pki.New(t, "etcd two")
	rotated := calicoDocuments(t, "v1", other.PEM, other.Client("calico-client"))
	return []scenario{
		{name: "cold converge", store: bridge, needs: confNeeds("/etc/cni/net.d")},
		{name: "change", store: changed, from: []documents{bridge}, needs: confNeeds("/etc/cni/conf.d"), after: "config.toml", ready: (*bench).restarted},
		{name: "cold certificates", store: calico, sets: certificates, after: "calico-client.pem"},
		{name: "certificates rotated", store: rotated, from: []documents{calico}, sets: certificates, after: "calico-client.pem"},
	}
}

const calicoDir = "/srv/kubernetes/calico/"

// certificates are Calico's, which form a set.
var certificates = [][]string{{calicoDir + "ca.pem", calicoDir + "calico-client.pem", calicoDir + "calico-client-key.pem"}}

// harmlessExtras are files and a sysctl of the user, which take no checkpoint.
func harmlessExtras(word, backlog string) string {
	return fmt.Sprintf(`  sysctlParameters: [net.core.somaxconn=%s]
  fileAssets:
  - {name: motd, path: /etc/motd.d/cluster, content: %q, mode: "0640"}
  - {name: new-%s, path: /srv/kubernetes/lab.d/%s, content: x}
`, backlog, strings.Repeat(word+" ", 3000), word, word)
}

// extras also have a hook, whose change takes a checkpoint. The hook is not watched, since the
// files of a watch are removed only minutes later.
func extras(word, backlog string) string {
	return harmlessExtras(word, backlog) + fmt.Sprintf(`  update: {watch: 0s}
  hooks:
  - name: settle.service
    manifest: |
      Type=oneshot
      RemainAfterExit=yes
      ExecStart=/bin/echo %s
`, word)
}

func confNeeds(dir string) map[string][]string {
	bin := "/opt/cni/bin/"
	return map[string][]string{dir + "/05-netwright-bridge.conflist": {bin + "bridge", bin + "host-local", bin + "portmap"}}
}

func calicoDocuments(t testing.TB, release, ca string, client pki.Pair) documents {
	spec := strings.Replace(baseSpec, "1.36.0", "1.18.20", 1) +
		"  networking:\n    calico:\n      datastore: etcd\n      etcd:\n        endpoints: [\"https://10.77.0.1:2379\"]\n"
	return nodeDocuments(t, release, spec).with(documents{
		"pki/issued/ca/1.crt": ca, "pki/issued/calico-client/1.crt": client.Cert, "pki/private/calico-client/1.key": client.Key,
	})
}

// startsFile counts the starts of containerd.
const startsFile = "/run/lab/containerd-starts"

func newBench(t *testing.T) *bench { return newBenchBy(t, false) }

// newBenchBy makes a bench whose link networkd sets up, or a script once at the boot.
func newBenchBy(t *testing.T, networkd bool) *bench {
	t.Helper()
	f := node.NewFabric(t)
	n := f.Node(t, node.Options{
		Name: "node-1", Address: "10.77.0.11", Networkd: networkd,
		Copies: map[string]string{installed: agent(t)},
		Mask:   []string{checkpoint.TimerName + ".path"}, // so the undo of a killed agent stays for the next run: see e2e, TestUndoAsTheAgentIsKilled
		Files: map[string]string{
			"/etc/netwright/agent.yaml":                           fmt.Sprintf("store: /srv/netwright\ncluster: %s\nnode: node-1\nprobeWindow: 4s\n", cluster),
			"/etc/systemd/system/netwright-agent.service":         shippedUnit(t),
			"/etc/systemd/system/containerd.service.d/count.conf": "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStartPre=/bin/sh -c 'mkdir -p /run/lab; echo start >>" + startsFile + "'\n",
		},
	})
	b := &bench{t: t, f: f, n: n, leader: strings.Split(n.Netns(), "/")[2]}
	b.shell(t, "cp -a /etc/containerd/config.toml /root/config.toml; cp /root/config.toml /etc/containerd/config.toml")
	return b
}

// installed is the agent in a node. It is as large as all other files of a tree, of which there are
// many.
const installed = "/usr/bin/netwright"

// tree reads the node's files from outside: the upper layer of its overlay.
func (b *bench) tree(t testing.TB) tree {
	out := readTree(t, b.n.Upper(), "/var/log", "/var/lib/systemd", "/var/lib/containerd", "/var/tmp", "/tmp", "/run", "/srv/netwright", "/var/cache", "/root", installed)
	head, _, err := owner(b.n.Upper() + installed)
	sum, err2 := node.Sum(b.n.Upper() + installed)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	out[installed] = fmt.Sprintf("%s %x", head, sum)
	delete(out, "/etc/systemd/system/sysinit.target.wants") // the base has it; its first new link copies it up
	return out
}

// shell runs a script in the node's namespaces.
func (b *bench) shell(t testing.TB, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "nsenter", "--target="+b.leader, "--all", "--", "/bin/sh", "-euc", script)
	cmd.Env = nodeEnv
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("in the node: %v\n%s\n%s%s", err, script, out, errs.String())
	}
	return string(out)
}

var nodeEnv = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}

// live returns the node's network as ip and nft list it, and its units when no job is queued any
// more. It leaves out what differs between two equal nodes.
func (b *bench) live(t testing.TB) string {
	t.Helper()
	b.idle(t)
	out := b.shell(t, `ip -o addr show | grep -v ' fe80' | sed 's/^[0-9]*: //'; ip route show table all | grep -v fe80; ip rule; nft list ruleset;
		for k in ip_forward conf/all/forwarding conf/all/rp_filter conf/host0/arp_announce tcp_max_syn_backlog; do cat /proc/sys/net/ipv4/$k; done; cat /proc/sys/net/core/somaxconn
		systemctl is-active settle.service netwright-undo-now.timer netwright-undo-now.service netwright-watch.timer netwright-watch.service || true`)
	var lines []string
	for line := range strings.Lines(out) {
		if !strings.Contains(line, "fe80") && !strings.Contains(line, "ff00") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// wipe makes the node new again.
func (b *bench) wipe(t testing.TB) {
	t.Helper()
	b.idle(t)
	b.shell(t, `cmp -s /root/config.toml /etc/containerd/config.toml || { cat /root/config.toml >/etc/containerd/config.toml; systemctl restart containerd; }
		systemctl disable -q --now settle.service netwright-agent.service 2>/dev/null || true
		systemctl stop netwright-undo-now.timer netwright-watch.timer netwright-watch.service 2>/dev/null || true
		ip -force -batch /etc/lab-network 2>/dev/null || true
		rm -rf /opt/cni /etc/cni /etc/motd.d /srv/kubernetes/lab.d /var/lib/netwright /srv/kubernetes /etc/sysctl.d/99-netwright.conf /etc/modules-load.d/netwright.conf \
			/etc/systemd/system/settle.service /etc/systemd/system/netwright-undo.service /etc/systemd/system/sysinit.target.wants/netwright-undo.service /run/netwright /var/lib/calico /var/run/calico /etc/calico
		find /etc -name '.netwright-*' -delete
		mkdir -p /run/lab
		ip link del cbr0 2>/dev/null || true
		nft flush ruleset; ip route flush proto 149 2>/dev/null || true
		sysctl -qw net.ipv4.ip_forward=0 net.core.somaxconn=4096 net.ipv4.tcp_max_syn_backlog=512 net.ipv4.conf.host0.arp_announce=0; systemctl daemon-reload`)
}

// put replaces the node's store.
func (b *bench) put(d documents) {
	b.t.Helper()
	for name, content := range d {
		b.n.Write("/srv/netwright/"+cluster+"/"+name, content, 0o644)
	}
}

// run runs the agent in the node, in the trap.
func (b *bench) run(t testing.TB, args []string, decide func(trap.Call) trap.Decision) trap.Outcome {
	t.Helper()
	o, err := trap.Run(t.Context(), b.command(args), nodeEnv, decide)
	if err != nil {
		t.Fatalf("run the agent: %v\n%s", err, o.Stderr)
	}
	return o
}

// command returns the command that runs the agent in the node.
func (b *bench) command(args []string) []string {
	if args == nil {
		args = []string{"--once"}
	}
	return slices.Concat(b.under, []string{"nsenter", "--target=" + b.leader, "--all", "--", "/usr/bin/netwright"}, args)
}

func pass(trap.Call) trap.Decision { return trap.Decision{} }

// prepare makes the state in which a scenario starts.
func (b *bench) prepare(t testing.TB, s scenario) {
	t.Helper()
	b.wipe(t)
	for path, content := range s.theirs {
		b.n.Write(path, content, 0o604)
	}
	if s.fresh {
		b.fresh, b.freshLive = b.timed(t), b.live(t)
	}
	for _, from := range s.from {
		b.put(from)
		if o := b.run(t, nil, pass); o.Code != 0 {
			t.Fatalf("converge to the start: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
		}
		b.idle(t) // a containerd that is starting makes the directory of its confs
	}
	b.put(s.store)
	if s.begin != nil {
		s.begin(b, t)
	}
	b.shell(t, ": >"+startsFile)
}

// want is the result of a scenario without a kill.
type want struct {
	before, after tree
	live          string
	calls         []trap.Call
	starts        int
}

// starts returns how often containerd was started, when no job is queued any more.
func (b *bench) starts(t testing.TB) int {
	t.Helper()
	b.idle(t)
	return strings.Count(b.shell(t, "cat "+startsFile), "start")
}

// idle waits until systemd has no job queued or running.
func (b *bench) idle(t testing.TB) {
	t.Helper()
	b.shell(t, "while systemctl list-jobs --no-legend | grep -q .; do sleep 0.02; done")
}

func (b *bench) kill(t *testing.T, s scenario) {
	b.halves = 0
	b.prepare(t, s)
	b.run(t, s.args, pass) // directories of the base are copied up once, and stay so
	b.prepare(t, s)
	w := want{before: b.tree(t)}
	o := b.run(t, s.args, pass)
	if o.Code != 0 {
		t.Fatalf("undisturbed: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
	}
	w.after, w.live, w.calls, w.starts = b.tree(t), b.live(t), o.Calls, b.starts(t)
	if s.fresh {
		for _, d := range b.traces(t) {
			t.Error("undisturbed: " + d)
		}
	}
	if len(w.calls) < 20 || len(differs(w.before, w.after)) == 0 {
		t.Fatalf("nothing happens in this scenario: %d calls", len(w.calls))
	}
	tried, lost, at := 0, 0, map[string]int{}
	for _, n := range points(w.calls, s.after) {
		call, broken := b.killAt(t, s, w, n)
		tried++
		at[call]++
		if len(broken) > 0 {
			lost++
			t.Errorf("killed at call %d of %d, %s:\n%s", n, len(w.calls), call, strings.Join(broken, "\n"))
		}
	}
	report(t, "kill: "+s.name, tried, lost, "of %d calls; a set mixed until the next start: %d; %s", len(w.calls), b.halves, counts(at))
}

// points returns the calls at which the agent is killed: all of them, or a sample of as many kinds
// of calls as possible. The sample begins with another kind in each scenario. It also has the calls
// after a file was renamed into place, and a call after each record of wanted effects: of the
// restart that is tried, and of the one that is done.
func points(calls []trap.Call, after string) []int {
	most, draw := either(len(calls), 4), rand.New(rand.NewPCG(1, 1)) // the same sample in each run
	byName := map[string][]int{}
	for _, c := range calls {
		byName[c.Name] = append(byName[c.Name], c.N)
	}
	var out []int
	for _, c := range calls {
		if !full && after != "" && c.Target == after && strings.HasPrefix(c.Name, "rename") {
			out = append(out, c.N+1, c.N+2)
		}
		if !full && len(out) > 0 && c.Target == "owed.json" && strings.HasPrefix(c.Name, "rename") {
			out = append(out, c.N+2)
		}
	}
	most = max(most, len(out))
	names := slices.Sorted(maps.Keys(byName))
	first := len(calls) % len(names)
	for len(out) < most && len(byName) > 0 {
		for _, name := range slices.Concat(names[first:], names[:first]) {
			list, left := byName[name]
			if !left {
				continue
			}
			i := draw.IntN(len(list))
			out = append(out, list[i])
			if byName[name] = slices.Delete(list, i, i+1); len(byName[name]) == 0 {
				delete(byName, name)
			}
		}
	}
	return out[:min(len(out), most)]
}

func counts(at map[string]int) string {
	var list []string
	for _, name := range sortedKeys(at) {
		list = append(list, name+" "+strconv.Itoa(at[name]))
	}
	return strings.Join(list, ", ")
}

// killAt kills the agent at its n-th call. It returns what is broken then and after the next runs.
// A run may make fewer calls than the one before it, which may have waited longer. Then it is made
// again, and killed after the same share of its calls.
func (b *bench) killAt(t *testing.T, s scenario, w want, n int) (at string, broken []string) {
	t.Helper()
	b.prepare(t, s)
	o := b.run(t, s.args, func(c trap.Call) trap.Decision { return trap.Decision{Kill: c.N == n} })
	if !o.Killed {
		if n == 1 {
			t.Fatalf("the run makes no call: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
		}
		return b.killAt(t, s, w, max(1, n*len(o.Calls)/len(w.calls)))
	}
	call := o.Calls[len(o.Calls)-1]
	at = call.Name
	now := b.tree(t)
	for _, path := range scaffold {
		delete(now, path)
	}
	broken = append(broken, torn(w.before, now, w.after)...)
	if half := mixed(w.before, now, w.after, s.sets); len(half) > 0 && strings.HasPrefix(at, "rename") {
		b.halves++ // between two renames of one batch, which no call makes together
	} else {
		broken = append(broken, half...)
	}
	if len(s.sets) > 0 {
		broken = append(broken, b.recovered(t, s, w, n)...)
	}
	broken = append(broken, early(w.before, now, w.after, s.needs)...)

	if s.alone != nil {
		o := b.run(t, s.alone, pass)
		now := b.tree(t)
		if old, fresh := differs(now, w.before), differs(now, w.after); len(old) > 0 && len(fresh) > 0 {
			broken = append(broken, fmt.Sprintf("after a run by itself the node is neither old:\n%s\nnor new:\n%s\nexit %d\n%s%s",
				strings.Join(old, "\n"), strings.Join(fresh, "\n"), o.Code, o.Stdout, o.Stderr))
		}
	}
	if s.clear != nil {
		s.clear(b, t)
	}
	if o := b.run(t, s.args, pass); o.Code != 0 {
		return at, append(broken, fmt.Sprintf("the next run: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr))
	}
	for _, d := range differs(b.tree(t), w.after) {
		broken = append(broken, "after the next run: "+d)
	}
	if live := b.live(t); live != w.live {
		broken = append(broken, "after the next run the network is\n"+live+"not\n"+w.live)
	}
	if s.fresh {
		broken = append(broken, b.traces(t)...)
	}
	if s.ready != nil {
		if problem := s.ready(b, t); problem != "" {
			broken = append(broken, problem)
		}
	}
	b.idle(t)
	if _, err := os.Stat(b.n.Upper() + "/var/lib/netwright/trials.json"); err == nil { // a unit came up later: one more run records it
		b.run(t, s.args, pass)
	}
	before := b.n.Snapshot()
	if o := b.run(t, s.args, pass); o.Code != 0 {
		broken = append(broken, fmt.Sprintf("the third run: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr))
	}
	for _, d := range node.Diff(before, b.n.Snapshot()) {
		if !strings.Contains(d, "file /run/systemd: mode=4") && !(s.fresh && strings.Contains(d, "file /run: mode=4")) { // the lock comes and goes
			broken = append(broken, "the third run changed: "+d)
		}
	}
	return at, broken
}
