package e2e

import (
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/program"
	"github.com/netwright/netwright/test/rerun"
)

const (
	documents = "/srv/netwright/" + cluster + "/cluster.yaml"
	published = "/srv/published"
)

var kept = flag.String("keep", "", "a directory: TestUpgradeAndDowngrade only copies there what the earlier release has on a disk, for pkg/reconcile/testdata")

// aged is a node that runs the earlier release, follows a published store, and has the programs of
// both releases.
type aged struct {
	*node.Node
	t    *testing.T
	good string // the cluster's document
}

func newAged(t *testing.T, extra map[string]string) aged {
	t.Helper()
	s, good := goodStore(t)
	s.write(t, "nodes/node-1.yaml", goodNode("[10.244.1.0/24]")) // publish prints a note about pods of a family that no node has
	// The probes include an address whose packets cut leads elsewhere. So the agent waits for its
	// whole window before it judges the change, and the test kills it in that time.
	settings := strings.NewReplacer("/srv/netwright", published, "probes: [", "probes: [ping:"+nearAddress+", ").Replace(agentFile("9s"))
	files := map[string]string{"/etc/netwright/agent.yaml": settings + "insecureUnsigned: true\ninterval: 5s\n"}
	for path, text := range extra {
		files[path] = text
	}
	n := aged{t: t, good: good, Node: serve(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: files, Copies: map[string]string{
		"/usr/bin/netwright": program.Earlier(t), "/opt/earlier": program.Earlier(t), "/opt/later": agent(t),
	}}))}
	return n
}

// become installs a release, "earlier" or "later", as packages do: a running daemon is restarted.
func (n aged) become(release string) {
	n.t.Helper()
	n.Shell(n.t.Context(), "install -m 755 /opt/"+release+" /usr/bin/netwright; systemctl try-restart netwright-agent")
}

// publish has a release publish the good cluster with more in its spec.
func (n aged) publish(release, spec string) {
	n.t.Helper()
	n.Write(documents, strings.Replace(n.good, "  networking:", spec+"  networking:", 1), 0o644)
	n.Shell(n.t.Context(), fmt.Sprintf("cd /srv; /opt/%s store publish netwright published; cp -rn netwright/%[2]s/assets published/%[2]s/", release, cluster))
}

// once makes a pass that must succeed.
func (n aged) once(args ...string) string {
	n.t.Helper()
	return n.Must(n.t.Context(), "netwright", append([]string{"--once"}, args...)...)
}

// wants returns a spec with a sysctl of this value, a file with it, and a hook.
func wants(value int) string {
	return fmt.Sprintf("  sysctlParameters: [net.ipv4.ip_default_ttl=%d]\n  fileAssets:\n", value) +
		assetFile("/etc/lab", fmt.Sprintf("%d\n", value)) +
		"  hooks: [{name: lab.service, manifest: \"ExecStart=/bin/sleep infinity\"}]\n"
}

// has checks that the node is as wants says.
func (n aged) has(when string, value int) {
	n.t.Helper()
	look := n.Shell(n.t.Context(), "cat /proc/sys/net/ipv4/ip_default_ttl /etc/lab; systemctl is-active lab")
	if want := fmt.Sprintf("%d\n%[1]d\nactive\n", value); look != want {
		n.t.Errorf("%s the node has\n%swant\n%s", when, look, want)
	}
}

// well checks that nothing is left to do, that nothing failed, and that no undo and no watch is
// left.
func (n aged) well(when string) {
	n.t.Helper()
	ctx := n.t.Context()
	nothingToDo(n.t, n.Node)
	idle(n.t, n.Node)
	if got := n.Shell(ctx, "systemctl is-system-running || systemctl --failed; systemctl list-units --all --plain --no-legend 'netwright-undo-now*' 'netwright-watch*'; "+
		"cd /var/lib/netwright/checkpoint && ls -d journal.json scaffold.json 2>/dev/null || true"); got != "running\n" {
		n.t.Errorf("%s: Shell returns %s, want %q", when, got, "running\n")
	}
}

// cut makes a route to a gateway that is not there, and kills the agent as soon as the route is
// made.
func (n aged) cut(pods string) {
	n.t.Helper()
	ctx := n.t.Context()
	n.Write(documents, strings.Replace(n.good, "bridge: {}", "bridge: {nodes: [{name: evil, address: 10.77.0.99, podCIDRs: ["+pods+"]}]}", 1), 0o644)
	n.Shell(ctx, "cd /srv; /opt/earlier store publish netwright published") // the later release refuses it
	n.Start(ctx, "acting", "/bin/sh", "-c", "until ip route show "+pods+" | grep -q 10.77.0.99; do sleep 0.002; done; pkill -KILL -f 'netwright --[o]nce' && touch /run/acted")
	n.Start(ctx, "cutting", "netwright", "--once")
	until(n.t, n.Node, "the change is made", "test -e /run/acted")
	n.Shell(ctx, "rm /run/acted; systemctl reset-failed; test -e /var/lib/netwright/checkpoint/journal.json")
}

// held has the earlier release undo a change with which containerd does not start.
func (n aged) held() {
	n.t.Helper()
	n.Write(documents, strings.Replace(strings.Replace(n.good, "  networking:", wants(66)+"  networking:", 1), "    bridge: {}\n", "    bridge: {}\n    cni: {confDir: /etc/cni/broken}\n", 1), 0o644)
	n.Shell(n.t.Context(), "cd /srv; /opt/earlier store publish netwright published; rm -f /run/lab/starts; if netwright --once; then exit 9; fi; test $(wc -l </run/lab/starts) = 2")
}

// keep copies what the earlier release has on the disk, without programs: in a right node, in the
// middle of a change, and with a change that it holds back. It also copies what that release has
// published.
func (n aged) keep() {
	n.t.Helper()
	copied := func(from, state string) {
		to := filepath.Join(*kept, state)
		command(n.t, "cp", "--recursive", n.Path(from), to)
		command(n.t, "find", to, "(", "-size", "+64k", "-o", "-empty", ")", "-delete")
	}
	copied("/var/lib/netwright", "right")
	copied(published, "published")
	n.cut(nearAddress + "/30") // for a part of a default route that release takes no checkpoint
	copied("/var/lib/netwright", "armed")
	n.publish("earlier", wants(65))
	n.once()
	n.held()
	copied("/var/lib/netwright", "held")
}

// claims returns the ledger's entries without what only this release adds. For a hook, it is how
// long its start may take, and that the agent does not wait for it. For the table that masquerades,
// it is the gateway that the table needs.
func (n aged) claims() map[string]string {
	n.t.Helper()
	out := claims(n.t, n.Node)
	for key, entry := range out {
		out[key] = strings.NewReplacer(`"At":1,`, "", `,"Within":120000000000`, "",
			`"After":["address:cbr0/10.244.1.1/24"],`, "", `,"needs":["address:cbr0/10.244.1.1/24"]`, "").Replace(entry)
	}
	return out
}

// untouched returns the differences of a node, except the installed program and what the agent
// writes for itself.
func untouched(before, after node.Snapshot) (left []string) {
	for _, line := range node.Diff(before, after) {
		_, what, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(what, "file /run") && !strings.HasPrefix(what, "file /var/lib/") && !strings.HasPrefix(what, "file /usr/bin") {
			left = append(left, line)
		}
	}
	return left
}

// A node of an earlier release is upgraded: this release reads all that the earlier one recorded,
// and changes nothing. Then the node is downgraded, with everything on its disk that only this
// release knows, and upgraded again. The lines that keep it: all that is read below
// /var/lib/netwright; pkg/ledger/testdata; pkg/checkpoint/watch_hooks.go, watching;
// pkg/checkpoint/firstboot/firstboot.go, passedOver; pkg/host/systemd/transient_units.go,
// startTimer (conditions).
func TestUpgradeAndDowngrade(t *testing.T) {
	t.Parallel() // the test waits for undos
	rerun.Never(t, "it kills the agent")
	ctx := t.Context()
	n := newAged(t, map[string]string{"/etc/systemd/system/containerd.service.d/fussy.conf": fussy})

	n.publish("earlier", wants(65))
	n.Shell(ctx, "netwright --once || netwright --once")
	n.has("by the earlier release", 65)
	if *kept != "" {
		n.keep()
		return
	}
	n.Must(ctx, "systemctl", "enable", "--now", "netwright-agent")
	before, claimed := n.Snapshot(), n.claims()

	// Upgrade: nothing changes, and this release knows all that the earlier one recorded.
	made := taken(t, n.Node)
	n.become("later")
	until(t, n.Node, "the daemon has looked", "netwright status >/dev/null")
	nothingToDo(t, n.Node)
	if diff := untouched(before, n.Snapshot()); len(diff) > 0 || taken(t, n.Node) != made {
		t.Errorf("the upgrade changed the node, with %d checkpoints:\n%s", taken(t, n.Node)-made, strings.Join(diff, "\n"))
	}
	if diff := gocmp.Diff(claimed, n.claims()); diff != "" {
		t.Errorf("the ledger says something else after the upgrade (-before +after):\n%s", diff)
	}
	if history := n.Must(ctx, "netwright", "history"); !strings.Contains(history, "\n* 1  ") || strings.Contains(history, "\n  2  ") {
		t.Errorf("the upgrade is in the history:\n%s", history)
	}
	n.Shell(ctx, "mv "+published+" /srv/gone; systemctl restart netwright-agent")
	until(t, n.Node, "the last good copy of the earlier release is read", "systemctl show -p StatusText netwright-agent | grep -q 'going on with the last good configuration, generation 1'")
	n.has("with the last good copy", 65)
	n.Shell(ctx, "mv /srv/gone "+published+"; systemctl stop netwright-agent")
	n.publish("later", wants(66))
	n.once()
	history := n.Must(ctx, "netwright", "history")
	later := regexp.MustCompile(`(?m)^\* (\d+)`).FindStringSubmatch(history)
	if later == nil || !strings.Contains(history, "\n  1  ") {
		t.Fatalf("history:\n%s", history)
	}
	n.Must(ctx, "netwright", "rollback", "1")
	n.has("back at the revision of the earlier release", 65)
	n.Must(ctx, "netwright", "resume", "--apply")
	n.has("with the store again", 66)
	n.well("upgraded")

	// The earlier release made a change, and was killed before it confirmed the change.
	n.become("earlier")
	before, claimed = n.Snapshot(), n.claims()
	n.cut(nearAddress + "/30") // for a part of a default route that release takes no checkpoint
	n.become("later")
	n.publish("later", wants(66))
	n.once()
	program := func(line string) bool { return strings.HasPrefix(line, "~ file /usr/bin/netwright:") }
	if left := slices.DeleteFunc(lasting(before, n.Snapshot()), program); len(left) > 0 {
		t.Errorf("what the earlier release began is not undone:\n%s", strings.Join(left, "\n"))
	}
	if diff := gocmp.Diff(claimed, n.claims()); diff != "" {
		t.Errorf("the ledger does not say what it said before (-before +after):\n%s", diff)
	}
	if history := n.Must(ctx, "netwright", "history"); !strings.Contains(history, "undone: ") {
		t.Errorf("history:\n%s", history)
	}
	n.well("after the undo of what the earlier release began")

	// The earlier release undid a change, since containerd did not start with it: this release does
	// not make it again.
	n.become("earlier")
	n.held()
	n.become("later")
	if res := n.Run(ctx, "netwright", "--once"); res.Code != 1 || !strings.Contains(res.Stdout, "containerd.service did not come up with it") {
		t.Errorf("what the earlier release holds back: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	n.Shell(ctx, "test $(wc -l </run/lab/starts) = 2; systemctl is-active containerd")

	// Downgrade, with a hook that is watched and a file that awaits its boot.
	n.Shell(ctx, "ip address add 10.99.0.1/32 dev host0") // a boot loses it, and not because of our files
	const awaits = "/usr/local/lib/systemd/network/90-lab.network"
	n.publish("later", strings.Replace(wants(67), "fileAssets:\n", "fileAssets:\n"+assetFile(awaits, "[Match]\nName=lab9\n"), 1))
	n.Shell(ctx, "systemctl stop lab")
	n.once()
	n.Shell(ctx, "test -e /var/lib/netwright/checkpoint/watch.json; test -e /var/lib/netwright/awaiting/index.json")
	before, claimed = n.Snapshot(), n.claims()
	n.become("earlier")
	n.once()
	n.has("downgraded", 67)
	if diff := untouched(before, n.Snapshot()); len(diff) > 0 {
		t.Errorf("the downgrade changed the node:\n%s", strings.Join(diff, "\n"))
	}
	if diff := gocmp.Diff(claimed, n.claims()); diff != "" {
		t.Errorf("the ledger says something else after the downgrade (-before +after):\n%s", diff)
	}
	until(t, n.Node, "nobody watches", "test $(systemctl show -P SubState netwright-watch.timer) != waiting && ! systemctl is-active -q netwright-watch.service")
	n.well("downgraded")
	n.Must(ctx, "systemctl", "start", "netwright-agent")
	n.Must(ctx, "netwright", "status")
	n.Must(ctx, "systemctl", "stop", "netwright-agent")
	n.Must(ctx, "netwright", "rollback", later[1])
	n.has("back at a revision of the later release", 66)
	n.Must(ctx, "netwright", "resume", "--apply")
	n.has("with the store again", 67)

	// This release made two changes: it was killed before it confirmed the first, and the second
	// awaits its confirmation.
	n.become("later")
	n.once()
	n.cut(serverAddress + "/30")
	n.become("earlier")
	n.publish("earlier", wants(67))
	n.once()
	if res := n.Run(ctx, "ip", "route", "show", serverAddress+"/30"); res.Stdout != "" {
		t.Errorf("what the later release began is not undone: %s", res.Stdout)
	}
	// The earlier release does not know this unit. See TestTimerReplacesWhatIsLeft.
	n.Shell(ctx, "systemctl stop netwright-undo-now.path || true")
	n.well("after the undo of what the later release began")
	n.become("later")
	n.publish("later", wants(68))
	n.once("--confirm", "40s")
	n.has("not confirmed,", 68)
	n.become("earlier")
	n.publish("earlier", wants(69))
	n.once()
	n.has("after another generation", 69)
	until(t, n.Node, "what would undo it is over", "test $(systemctl show -P SubState netwright-undo-now-unconfirmed.timer) != waiting")
	n.has("after the time of what nobody confirmed", 69)
	n.well("after what nobody confirmed")

	// The boot that the file awaited happens with the earlier release. This release does not judge
	// that boot later.
	n.become("later")
	n.publish("later", strings.Replace(wants(70), "fileAssets:\n", "fileAssets:\n"+assetFile(awaits, "[Match]\nName=lab8\n"), 1))
	n.once()
	n.Shell(ctx, "test -e /var/lib/netwright/awaiting/index.json")
	n.become("earlier")
	n.Reboot(ctx)
	n.once()
	n.Reboot(ctx)
	n.become("later")
	n.once()
	n.has("upgraded again", 70)
	n.Shell(ctx, "grep lab8 "+awaits+"; test ! -e /var/lib/netwright/awaiting")
	if history := n.Must(ctx, "netwright", "history"); strings.Contains(history, "\n  BOOT ") {
		t.Errorf("a boot is judged that an earlier release went through:\n%s", history)
	}
	n.well("upgraded again")
}
