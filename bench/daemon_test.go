package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/netwright/netwright/test/assets"
)

// Times of the daemon's figures.
const (
	idleFor   = time.Minute
	pollEvery = 5 * time.Second // the interval while polls are measured
	reactions = 100             // of each kind
)

// reactionKinds are what somebody changes, by which of the daemon's sources tells it.
var reactionKinds = []string{"file", "sysctl, by netconf", "sysctl, by inotify", "link", "route"}

// measureDaemon measures what the daemon costs while nothing happens, what a look at the store
// costs that finds nothing new, and how soon it repairs what somebody changes: on a node of its
// own, with a bridge network.
func measureDaemon(b *testing.B, r *results, agent string) {
	ctx := b.Context()
	n := newCosted(b, map[string]string{"this": agent})
	_, sum := assets.CNIArchive(b)
	spec := "  drift: {contested: {after: 1000, within: 10s}}\n  sysctlParameters: [net.ipv4.tcp_fin_timeout=30]\n" +
		"  fileAssets: [{name: x, path: /etc/lab/x, content: x}]\n"
	document := func(more string) string {
		return strings.Replace(cost(spec+more, 1400, firstHop), "SUM", sum, 1)
	}
	n.write(document(""))
	n.once(ctx)
	idle := n.stays(ctx, "10m")
	r.figures["idle: RSS MB"], r.figures["idle: anonymous MB"] = mb(idle.rss), mb(idle.anonymous)
	r.figures["idle: % of a processor"] = 100 * float64(idle.cpu) / float64(idleFor)
	r.figures["idle: bytes written"] = float64(idle.written)
	polls := n.stays(ctx, pollEvery.String())
	r.figures["poll of nothing new: CPU ms"] = ms(polls.cpu-idle.cpu) / float64(idleFor/pollEvery)
	if polls.passes > 0 {
		b.Errorf("%d passes were made while nothing was new", polls.passes)
	}
	n.restart(ctx, "10m")
	for _, kind := range reactionKinds {
		took := n.reactions(ctx, kind)
		slices.Sort(took)
		r.figures["reaction: "+kind+", ms"] = ms(took[len(took)/2])
		r.figures["reaction: "+kind+", p99 ms"] = ms(took[len(took)*99/100])
	}

	many := filepath.Join(n.Root(), filepath.Dir(costedDoc), "files/many")
	if err := os.MkdirAll(many, 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range 10_000 {
		if err := os.WriteFile(filepath.Join(many, fmt.Sprint(i)), fmt.Appendf(nil, "file %d\n", i), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for _, spec := range []string{strings.Replace(document(""), "fileAssets: [", "fileAssets: [{path: /srv/many, source: files/many/, mode: \"0644\"}, ", 1), document("")} {
		n.write(spec)
		n.Must(ctx, "netwright", "--once")
	}
	time.Sleep(10 * time.Second)
	after := n.usage(ctx)
	r.figures["idle, after 10,000 files: RSS MB"], r.figures["idle, after 10,000 files: anonymous MB"] = mb(after.rss), mb(after.anonymous)
}

func mb(kib int64) float64 { return float64(kib) * 1024 / 1e6 }

// usage is what the daemon of a node has used since it began, and holds now.
type usage struct {
	cpu            time.Duration
	rss, anonymous int64 // KiB
	written        int64 // bytes that went to a disk
	passes         int
}

func (n costed) usage(ctx context.Context) (u usage) {
	out := n.Must(ctx, "bash", "-euc", `p=$(systemctl show -P MainPID netwright-agent)
		cat /proc/$p/task/*/schedstat | awk '{n+=$1} END{print n}'
		awk '/^VmRSS/{print $2} /^RssAnon/{print $2}' /proc/$p/status
		awk '/^write_bytes/{print $2}' /proc/$p/io
		exec 3<>/dev/tcp/127.0.0.1/19870
		printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
		awk '/^netwright_passes_total/{n+=$2} END{print n}' <&3`)
	if _, err := fmt.Sscan(out, &u.cpu, &u.rss, &u.anonymous, &u.written, &u.passes); err != nil {
		n.t.Fatalf("%q: %v", out, err)
	}
	return u
}

// restart starts the daemon anew, and waits until it has nothing to do.
func (n costed) restart(ctx context.Context, interval string) {
	conf := fmt.Sprintf("store: /srv/netwright\nnode: node-1\ninterval: %s\n", interval)
	if err := os.WriteFile(filepath.Join(n.Root(), "etc/netwright/agent.yaml"), []byte(conf), 0o644); err != nil {
		n.t.Fatal(err)
	}
	n.Must(ctx, "systemctl", "restart", "netwright-agent")
	if !n.Await(ctx, "netwright status >/dev/null") {
		n.t.Fatal(n.Shell(ctx, "netwright status || true"))
	}
	time.Sleep(10 * time.Second) // what came with the start is looked at
}

// stays is what a daemon uses that nothing happens to.
func (n costed) stays(ctx context.Context, interval string) usage {
	n.restart(ctx, interval)
	before := n.usage(ctx)
	time.Sleep(idleFor)
	after := n.usage(ctx)
	after.cpu -= before.cpu
	after.written -= before.written
	after.passes -= before.passes
	return after
}

// reactions are how long things of a kind are wrong that somebody changes, each when nothing is
// under way.
func (n costed) reactions(ctx context.Context, kind string) (took []time.Duration) {
	err := n.Do(func() error {
		change, right, err := n.reaction(kind)
		if err != nil {
			return err
		}
		for range reactions {
			time.Sleep(400*time.Millisecond + rand.N(100*time.Millisecond))
			began := time.Now()
			if err := change(); err != nil {
				return err
			}
			for !right() {
				if time.Since(began) > time.Minute || ctx.Err() != nil {
					return fmt.Errorf("%s: not right again after a minute", kind)
				}
				time.Sleep(20 * time.Microsecond)
			}
			took = append(took, time.Since(began))
		}
		return nil
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return took
}

// reaction is how to change something, and to see that it is right.
func (n costed) reaction(kind string) (change func() error, right func() bool, err error) {
	content := func(path, wrong string) (func() error, func() bool, error) {
		want, err := os.ReadFile(path)
		return func() error { return os.WriteFile(path, []byte(wrong), 0o644) },
			func() bool { now, err := os.ReadFile(path); return err == nil && string(now) == string(want) }, err
	}
	switch kind {
	case "file":
		return content(filepath.Join(n.Root(), "etc/lab/x"), "theirs")
	case "sysctl, by netconf":
		return content("/proc/sys/net/ipv4/ip_forward", "0")
	case "sysctl, by inotify": // which hears who writes through the node's own procfs
		return content(n.Path("/proc/sys/net/ipv4/tcp_fin_timeout"), "31")
	case "link":
		link, err := netlink.LinkByName("cbr0")
		return func() error { return netlink.LinkSetMTU(link, 1399) },
			func() bool { now, err := netlink.LinkByName("cbr0"); return err == nil && now.Attrs().MTU == 1400 }, err
	}
	_, dst, err := net.ParseCIDR("10.244.9.0/24")
	find := func() []netlink.Route {
		list, _ := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Dst: dst}, netlink.RT_FILTER_DST) // none is there either way
		return list
	}
	return func() error { return netlink.RouteDel(&netlink.Route{Dst: dst}) },
		func() bool { list := find(); return len(list) == 1 && list[0].Gw != nil }, err
}
