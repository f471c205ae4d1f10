package e2e

import (
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

const witnessPort = "7777"

// witness starts a server in the node's network. reaches connects to it from the fabric, over both
// families.
func witness(t *testing.T, f *node.Fabric, n *node.Node) (reaches func() error) {
	t.Helper()
	var l net.Listener
	if err := n.Do(func() (err error) {
		l, err = net.Listen("tcp", ":"+witnessPort)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	return func() error {
		for _, address := range []string{n.Address(), n.Address6()} {
			err := f.Do(func() error {
				c, err := net.DialTimeout("tcp", net.JoinHostPort(address, witnessPort), 2*time.Second)
				if err == nil {
					err = c.Close()
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// reachedAgain waits until the fabric reaches the node. It returns the error after a minute without
// success.
func reachedAgain(reaches func() error) error {
	for end := time.Now().Add(time.Minute); ; { // only so that a test that hangs ends
		if err := reaches(); err == nil || time.Now().After(end) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// hookNode returns a node that works, and function publish for documents with hooks. The hooks run
// the script /srv/lab-does, and may change the units lab-a, lab-b and lab-c@.
func hookNode(t *testing.T, window string) (f *node.Fabric, n *node.Node, publish func(update, hooks string)) {
	t.Helper()
	f = serve(t)
	s, good := goodStore(t)
	sleeps := "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"
	n = f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Files: map[string]string{
			"/etc/netwright/agent.yaml":              agentFile(window),
			"/usr/lib/systemd/system/lab-a.service":  sleeps,
			"/usr/lib/systemd/system/lab-b.service":  sleeps,
			"/usr/lib/systemd/system/lab-c@.service": sleeps,
		},
	}))
	// systemd enables the units, so that its undo makes the same links again.
	n.Shell(t.Context(), "netwright --once || netwright --once; systemctl enable --now lab-a lab-b; systemctl start lab-c@x")
	return f, n, func(update, hooks string) {
		text := strings.Replace(good, atOnce, "  update: {splay: 0s, "+update+"}\n", 1)
		n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(text, "  networking:", hooks+"  networking:", 1), 0o644)
	}
}

// slowHook returns a hook that runs the script, and is up when the script has ended.
func slowHook(name string) string {
	return fmt.Sprintf("  hooks:\n  - name: %s.service\n    manifest: |\n      Type=oneshot\n      RemainAfterExit=yes\n      ExecStart=/bin/sh -e /srv/lab-does\n", name)
}

// hookThat returns a hook that runs the script of the node, and goes on running.
func hookThat(name string) string {
	return fmt.Sprintf("  hooks:\n  - name: %s.service\n    manifest: |\n      ExecStart=/bin/sh -c \"/bin/sh -e /srv/lab-does && exec sleep infinity\"\n", name)
}

// A hook changes the node's network and units, and no document names these changes. An undo of the
// hook also undoes them. The fabric and the node's own programs judge.
//
// The lines that keep it: pkg/checkpoint/undo/restore_hooks.go; pkg/checkpoint/probe/comparison.go,
// AwaitProbes; pkg/host/firewall/ruleset_restore.go; pkg/host/firewall/ruleset.go;
// pkg/host/netstate/remove_added.go; pkg/host/netstate/rules.go, ruleMessage;
// pkg/host/netstate/route_message.go; pkg/host/systemd/unit_list.go.
func TestWhatAHookDidIsTakenBack(t *testing.T) {
	t.Parallel() // the test waits for probes
	rerun.Never(t, "it cuts the node off")
	ctx := t.Context()
	f, n, publish := hookNode(t, "9s")
	reaches := witness(t, f, n)
	if err := reachedAgain(reaches); err != nil {
		t.Fatal(err)
	}
	units := func() string {
		return n.Shell(ctx, "systemctl is-active lab-a lab-b lab-c@x; systemctl is-enabled lab-a lab-b")
	}
	const cutsOff = "\nip link set host0 down\n"
	// The kernel lists these in another form than it accepts.
	n.Write("/srv/lab-forms", `ip rule add not fwmark 51820 table 51820 pref 90
ip link add lab-two type veth peer name lab-off
ip link set lab-two up
ip address add 10.99.0.1/24 dev lab-two
ip route add 203.0.113.0/24 nexthop via 10.77.0.1 dev host0 nexthop via 10.99.0.2 dev lab-two
nft -f - <<'END'
table ip lab-forms {
	chain in {
		type filter hook input priority 0;
		tcp dport 9 meter slow { ip saddr limit rate 5/second } accept
	}
}
END
`, 0o644)
	n.Must(ctx, "sh", "-e", "/srv/lab-forms")
	for i, c := range []struct{ name, does string }{
		{"changes that tools list in another form", "ip rule del pref 90; ip route del 203.0.113.0/24; nft flush ruleset; ip route add blackhole " + serverAddress + "/32"},
		{"the uplink goes down after the first probes", "sleep 4; ip link set host0 down"},
		{"the uplink goes down", "ip link set host0 down"},
		{"the addresses go", "ip addr flush dev host0"},
		{"an address of the server's", "ip addr add " + serverAddress + "/32 dev lo"},
		{"a route and a rule", "ip route add blackhole " + serverAddress + "/32; ip rule add pref 7 to 10.77.0.0/24 blackhole"},
		{"a link", "ip link add lab-br type bridge; ip addr add " + serverAddress + "/24 dev lab-br; ip link set lab-br up" + cutsOff},
		{"sysctls", "sysctl -w net.ipv4.tcp_syncookies=0 net.ipv4.neigh.host0.gc_stale_time=9 net.ipv4.ip_local_port_range='40000 41000' net.ipv4.conf.all.log_martians=1" + cutsOff},
		{"a rule of nft", "nft 'add table inet lab; add chain inet lab out { type filter hook output priority 0; policy drop; }'"},
		{"a rule of iptables", "iptables -I INPUT -j DROP; iptables -P OUTPUT DROP"},
		{"the rule set is flushed", "nft flush ruleset" + cutsOff},
		// systemd reloads its files once here: a busy machine takes eight seconds for that, and the
		// agent waits 27 for a start.
		{"units", "systemctl disable --no-reload lab-b; systemctl mask --now lab-a; systemctl stop lab-b lab-c@x" + cutsOff},
		{"a mask for this boot", "systemctl mask --runtime --now lab-a" + cutsOff},
	} {
		t.Run(c.name, func(t *testing.T) {
			n.Write("/srv/lab-does", c.does+"\n", 0o755)
			before, running := n.Snapshot(), units()
			hook := hookThat
			if strings.HasPrefix(c.does, "sleep") || strings.HasPrefix(c.does, "systemctl") { // longer than the look at a hook that stays
				hook = slowHook
			}
			publish("watch: 0s", hook(fmt.Sprintf("lab-hook%d", i)))
			res := n.Run(ctx, "netwright", "--once")
			verdict := n.Shell(ctx, "cat /var/lib/netwright/checkpoint/verdict.json || true")
			if res.Code != 1 || !strings.Contains(verdict, `"bad":true`) || strings.Contains(verdict, `"left"`) {
				t.Errorf("exit %d, verdict %s\n%s%s", res.Code, verdict, res.Stdout, res.Stderr)
			}
			idle(t, n)
			until(t, n, "the addresses are in use", "! ip -6 address show tentative | grep -q .")
			if err := reachedAgain(reaches); err != nil {
				t.Errorf("the fabric does not reach the node: %v\n%s", err, n.Shell(ctx, "ip address; ip route; ip rule; nft list ruleset"))
			}
			if now := units(); now != running {
				t.Errorf("units were\n%sand are\n%s", running, now)
			}
			if left := lasting(before, n.Snapshot()); len(left) > 0 {
				t.Errorf("not as before:\n%s", strings.Join(left, "\n"))
			}
		})
	}
}

// The agent watches a hook after its change was found good. If the hook then breaks the network, a
// process of its own undoes the change. This holds for a run that has ended, a daemon that was
// killed, a change that somebody confirmed, and when another change came meanwhile. The first time
// it may have been an outage; the second time the change is bad. A watch that is over leaves
// nothing. The lines that keep it: pkg/checkpoint/watch_hooks.go, all of it;
// pkg/checkpoint/take.go, Take (WatchUS); pkg/checkpoint/verdict.go, judge (Watched);
// pkg/reconcile/session/undo.go, Undo.
func TestAHookIsWatched(t *testing.T) {
	t.Parallel() // the test waits for watches
	rerun.Never(t, "it cuts the node off")
	ctx := t.Context()
	f, n, publish := hookNode(t, "9s")
	reaches := witness(t, f, n)
	const (
		dir  = "/var/lib/netwright/checkpoint/"
		kept = "ls " + dir + "; systemctl list-units --all --plain --no-legend 'netwright-watch*' 'netwright-undo-now*'"
		late = "{ until test -e /run/lab-go; do sleep 0.2; done; nft 'add table inet lab; add chain inet lab out { type filter hook output priority 0; policy drop; }'; touch /run/lab-cut; } &\n"
	)
	n.Write("/srv/lab-does", "true\n", 0o755)
	publish("watch: 6s", hookThat("lab-quiet"))
	n.Must(ctx, "netwright", "--once")
	if got := n.Shell(ctx, kept); !strings.Contains(got, "watch.json") || strings.Contains(got, "journal.json") {
		t.Errorf("it is not watched: %s", got)
	}
	until(t, n, "the watch is over", "test ! -e "+dir+"watch.json && ! systemctl is-active -q netwright-watch.service")
	if got := n.Shell(ctx, kept); got != "" {
		t.Errorf("left of the watch: %s", got)
	}
	publish("watch: 0s", hookThat("lab-unwatched"))
	n.Must(ctx, "netwright", "--once")
	if got := n.Shell(ctx, kept); got != "" {
		t.Errorf("it is watched: %s", got)
	}

	n.Write("/srv/lab-does", late, 0o755)
	const forgotten = `sed -i 's/"at":"[^"]*"/"at":"2020-01-01T00:00:00Z"/' ` + dir + "verdict.json" // the pause is over
	for _, c := range []struct {
		name  string
		begin func()
		then  func() // during the watch
		bad   bool
	}{
		{"first", func() {
			publish("watch: 5m", hookThat("lab-late"))
			n.Must(ctx, "netwright", "--once")
		}, func() {
			if out := n.Must(ctx, "netwright", "history"); !strings.Contains(out, "is watched until ") {
				t.Errorf("history:\n%s", out)
			}
		}, false},
		{"a failure after the watch is killed", func() {
			if res := n.Run(ctx, "netwright", "--once"); res.Code != 1 || !strings.Contains(res.Stdout, "tries it again after") {
				t.Errorf("at once: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
			}
			n.Shell(ctx, forgotten)
			n.Must(ctx, "netwright", "--once")
		}, func() {
			until(t, n, "the watch runs", "systemctl is-active -q netwright-watch.service")
			n.Shell(ctx, "systemctl kill --signal=KILL netwright-watch.service")
		}, true},
		{"a daemon that is killed", func() {
			publish("watch: 5m", hookThat("lab-daemon"))
			n.Must(ctx, "systemctl", "start", "netwright-agent")
			until(t, n, "it is watched", "test -e "+dir+"watch.json && netwright history | grep -q 'is watched until'")
		}, func() {
			n.Shell(ctx, "systemctl kill --signal=KILL netwright-agent; systemctl stop netwright-agent")
		}, false},
		{"a change that somebody confirmed", func() {
			publish("watch: 5m", hookThat("lab-confirmed"))
			n.Must(ctx, "netwright", "--once", "--confirm", "10m")
			n.Must(ctx, "systemd-run", "--quiet", "--scope", "--unit=session-7.scope", "netwright", "confirm")
		}, func() {
			if got := n.Shell(ctx, kept); !strings.Contains(got, "watch.json") || strings.Contains(got, "journal.json") || strings.Contains(got, "unconfirmed") {
				t.Errorf("it is not watched: %s", got)
			}
		}, false},
		{"another change during the watch", func() {
			publish("watch: 5m", hookThat("lab-more"))
			n.Must(ctx, "netwright", "--once")
		}, nil, false},
	} {
		before := n.Snapshot()
		c.begin()
		if c.then == nil {
			before = n.Snapshot()
			was := n.Read(dir + "watch.json")
			publish("watch: 5m", hookThat("lab-more")+"  fileAssets:\n"+assetFile("/etc/lab-more", "more\n"))
			n.Must(ctx, "netwright", "--once")
			if now := n.Read(dir + "watch.json"); now == was || untilUS.FindString(now) != untilUS.FindString(was) || untilUS.FindString(was) == "" {
				t.Errorf("%s: it was watched:\n%s\nand is:\n%s", c.name, untilUS.FindString(was), untilUS.FindString(now))
			}
		} else {
			c.then()
		}
		if err := reachedAgain(reaches); err != nil {
			t.Fatalf("%s: it was cut off before: %v", c.name, err)
		}
		n.Shell(ctx, "touch /run/lab-go")
		until(t, n, "the hook acts", "test -e /run/lab-cut")
		if err := reaches(); err == nil {
			t.Errorf("%s: the node can be reached", c.name)
		}
		until(t, n, "it is undone", "grep -q '\"tries\":[1-9]' "+dir+"verdict.json && test ! -e "+dir+"journal.json && test ! -e "+dir+"watch.json")
		until(t, n, "nobody watches", "! systemctl is-active -q netwright-watch.service")
		idle(t, n)
		if err := reachedAgain(reaches); err != nil {
			t.Errorf("%s: the fabric does not reach the node: %v", c.name, err)
		}
		verdict := n.Read(dir + "verdict.json")
		if strings.Contains(verdict, `"bad":true`) != c.bad || !strings.Contains(verdict, "ping:"+node.Gateway6) {
			t.Errorf("%s: verdict %s", c.name, verdict)
		}
		if left := lasting(before, n.Snapshot()); len(left) > 0 {
			t.Errorf("%s: not as before:\n%s", c.name, strings.Join(left, "\n"))
		}
		if out := n.Must(ctx, "netwright", "history"); strings.Contains(out, "undone: bad: ") != c.bad || strings.Contains(out, "is watched until ") {
			t.Errorf("%s: history:\n%s", c.name, out)
		}
		n.Shell(ctx, "rm -f /run/lab-cut /run/lab-go")
		if !c.bad {
			continue
		}
		if res := n.Run(ctx, "netwright", "--once"); res.Code != 1 || !strings.Contains(res.Stdout, "is bad: probe ") {
			t.Errorf("a bad generation: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
		}
		n.Shell(ctx, "rm -f "+dir+"verdict.json /var/lib/netwright/undone.json")
	}
}

// untilUS finds the time at which a watch ends.
var untilUS = regexp.MustCompile(`"untilUS":\d+`)
