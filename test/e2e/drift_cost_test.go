package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/node"
)

// usage has what the agent of a node has used, by the kernel and by the agent's own metrics.
type usage struct {
	cpu                    time.Duration
	rss, peak              int // kB
	written                int // bytes written to a disk
	files, threads, passes int
	goroutines             int
}

func usageOf(t *testing.T, n *node.Node) usage {
	t.Helper()
	out := n.Must(t.Context(), "bash", "-euc", `p=$(systemctl show --value -p MainPID netwright-agent)
		cat /proc/$p/task/*/schedstat | awk '{n+=$1} END{print "nanoseconds", n}'
		awk '/^VmRSS/{print "rss", $2} /^VmHWM/{print "peak", $2} /^Threads/{print "threads", $2}' /proc/$p/status
		awk '/^write_bytes/{print "written", $2}' /proc/$p/io
		echo files $(ls /proc/$p/fd | wc -l)
		exec 3<>/dev/tcp/127.0.0.1/19870
		printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
		awk '/^go_goroutines /{print "goroutines", $2} /^netwright_passes_total/{n+=$2} END{print "passes", n}' <&3`)
	is := map[string]int{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("%q: ParseFloat returns %v", out, err)
		}
		is[name] = int(number)
	}
	return usage{
		cpu: time.Duration(is["nanoseconds"]), rss: is["rss"], peak: is["peak"], written: is["written"], files: is["files"], threads: is["threads"],
		passes: is["passes"], goroutines: is["goroutines"],
	}
}

// The test prints the costs of the daemon on a quiet node, in a storm of changes, and after many
// passes. It checks three things: on a quiet node nothing is written, even by whole passes; the
// host is right after the storm; no pass leaves an open file or a goroutine.
func TestDaemonCosts(t *testing.T) {
	t.Parallel()
	idle, converges := 15*time.Second, 50
	if os.Getenv("NETWRIGHT_DRIFT") == "full" {
		idle, converges = 10*time.Minute, 1000
	}
	n, ctx := driftNode(t), t.Context()
	until(t, n, "all is right", "netwright --dry-run")
	until(t, n, "what came with the boot is looked at",
		"[ $(($(date +%s) - $(stat -c %Z /run/netwright/status.json))) -ge 10 ]")

	var before usage
	for range 3 { // on a busy machine an event of the boot may come late
		n.Must(ctx, "touch", "/tmp/idle")
		before = usageOf(t, n)
		time.Sleep(idle)
		if n.Shell(ctx, "find /run/netwright/status.json -cnewer /tmp/idle") == "" {
			break
		}
	}
	n.Must(ctx, "systemctl", "reload", "netwright-agent") // a whole pass, which also asks the store
	after := usageOf(t, n)
	for after.passes == before.passes {
		after = usageOf(t, n)
	}
	t.Logf("idle for %s: CPU %s (%.3f %% of a core), RSS %d kB, %d bytes written, %d passes", idle, after.cpu-before.cpu,
		100*float64(after.cpu-before.cpu)/float64(idle), after.rss, after.written-before.written, after.passes-before.passes)
	if after.written != before.written {
		t.Errorf("%d bytes were written on a quiet node", after.written-before.written)
	}
	if changed := n.Shell(ctx, "find /var/lib/netwright /run/netwright /etc /opt/cni /srv -cnewer /tmp/idle"); changed != "" {
		t.Errorf("files have changed on a quiet node:\n%s", changed)
	}

	n.Write("/tmp/links", strings.Repeat("link set dev cbr0 mtu 1400\nlink set dev cbr0 mtu 1500\n", 25), 0o644)
	before = usageOf(t, n)
	began := time.Now()
	n.Shell(ctx, `for i in $(seq 100); do
			ip -batch /tmp/links &
			for j in $(seq 100); do echo theirs >`+conflistPath+`; done
			wait; sleep 0.03
		done; ip link set cbr0 mtu 1400`)
	storm := time.Since(began)
	until(t, n, "all is right after the storm", "netwright --dry-run")
	right := time.Since(began) - storm
	after = usageOf(t, n)
	t.Logf("a storm of 10000 writes and 5000 changes of a link in %s: CPU %s, %d passes, peak of RSS %d kB; right %s after it", storm.Round(time.Millisecond),
		after.cpu-before.cpu, after.passes-before.passes, after.peak, right.Round(time.Millisecond))

	many := func(count int) {
		n.Shell(ctx, fmt.Sprintf("for i in $(seq %d); do netwright --once >/dev/null; done", count))
	}
	many(10)
	before = usageOf(t, n)
	many(converges)
	after = usageOf(t, n)
	t.Logf("%d converges: descriptors %d -> %d, goroutines %d -> %d, threads %d -> %d, RSS %d -> %d kB", converges, before.files, after.files,
		before.goroutines, after.goroutines, before.threads, after.threads, before.rss, after.rss)
	for range 100 { // a connection that is closing has one or two
		if after.files <= before.files && after.goroutines <= before.goroutines {
			return
		}
		time.Sleep(100 * time.Millisecond)
		after = usageOf(t, n)
	}
	t.Errorf("%d converges left descriptors %d -> %d, goroutines %d -> %d", converges, before.files, after.files, before.goroutines, after.goroutines)
}

// The host's own tools change many things at once. The lines that keep it:
// pkg/daemon/watch_host.go.
func TestDriftWholesale(t *testing.T) {
	t.Parallel()
	n, ctx := driftNode(t), t.Context()
	until(t, n, "all is right", "netwright --dry-run")
	for _, c := range []struct{ what, shell string }{
		{"systemd-networkd begins to run", "systemctl start systemd-networkd"},
		{"systemd-networkd is restarted", "systemctl restart systemd-networkd"},
		{"all sysctls are set anew", "echo net.ipv4.ip_forward=0 >/etc/sysctl.d/zz-theirs.conf; sysctl --system || true"},
		{"the packet filter is flushed", "nft flush ruleset"},
		// The agent may restore a file before rm removes the directory.
		{"the CNI configuration is removed", "rm -rf /etc/cni || true"},
		{"the plugins are removed", "rm -rf /opt/cni/bin || true"},
		{"a plugin is overwritten", "cp /bin/true " + pluginPath},
	} {
		began := time.Now()
		n.Shell(ctx, c.shell)
		until(t, n, "it is right again after: "+c.what, "netwright --dry-run")
		t.Logf("%-36s right %s later", c.what, time.Since(began).Round(10*time.Millisecond))
		checkBridgeNode(t, n)
	}
	if drop := n.Must(ctx, "cat", "/etc/systemd/networkd.conf.d/99-netwright.conf"); !strings.Contains(drop, "ManageForeignRoutes=no") {
		t.Errorf("systemd-networkd, which began to run, takes foreign routes: %s", drop)
	}
}

// The daemon repairs a file and a sysctl before a pass looks at anything else. After the next pass
// the status reports both. The lines that keep it: pkg/daemon/loop.go, repair;
// pkg/daemon/watch_host.go, withRepairs.
func TestOneKeyIsRepairedWithoutAPass(t *testing.T) {
	t.Parallel()
	n, ctx := driftNode(t), t.Context()
	until(t, n, "all is right", "netwright --dry-run")
	for _, c := range []struct{ what, shell, wrong string }{
		{"a file", "echo theirs >>" + conflistPath, "grep -q theirs " + conflistPath},
		{"a sysctl", "echo 0 >/proc/sys/net/ipv4/ip_forward", "grep -q 0 /proc/sys/net/ipv4/ip_forward"},
	} {
		repaired := false
		for range 5 { // an event of another program may cause a pass in between
			until(t, n, "nothing but an event makes a pass soon", `[ $(($(date -d "$(netwright status -o json | jq -r .next)" +%s) - $(date +%s))) -gt 60 ]`)
			before := planOfDrift(t, n.Must(ctx, "cat", "/run/netwright/status.json")).Totals
			repaired = n.Is(ctx, `passes() { exec 3<>/dev/tcp/127.0.0.1/19870; printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3; awk '/^netwright_passes_total/{n+=$2} END{print n}' <&3; }
				before=$(passes); `+c.shell+`; while `+c.wrong+`; do :; done; [ $(passes) = $before ]`)
			if !repaired {
				continue
			}
			until(t, n, "the status tells of "+c.what, fmt.Sprintf("[ $(jq .totals.repairs /run/netwright/status.json) -eq %d ]", before.Repairs+1))
			break
		}
		if !repaired {
			t.Errorf("%s: five times a pass was made before it was right", c.what)
		}
	}
}

// The MTU of pods follows that of the node's link, which no task owns: its event makes a pass. The
// node has no route to pods of another node, because a route has its link watched, too. The line
// that keeps it: pkg/daemon/watch_host.go, interest.
func TestThePodsMTUFollowsTheUplink(t *testing.T) {
	t.Parallel()
	s, ctx := bridgeStore(t), t.Context()
	if err := os.Remove(s.path("nodes/node-2.yaml")); err != nil {
		t.Fatal(err)
	}
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Enable: []string{"netwright-agent.service"}}))
	until(t, n, "all is right", "netwright --dry-run")
	n.Must(ctx, "ip", "link", "set", "host0", "mtu", "1400")
	until(t, n, "new pods get the MTU", `ip link show cbr0 | grep -q 'mtu 1400' && grep -q '"mtu": 1400' `+conflistPath)
}
