package bench

import (
	"context"
	crand "crypto/rand"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/vishvananda/netlink"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/statestore/publisher"
	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/storetest"
	"github.com/netwright/netwright/test/toxic"
)

// reactionKinds has the changes that somebody makes, by the daemon's source of their events. The
// last two change facts, so a pass follows at once.
var reactionKinds = []string{"file", "sysctl, by netconf", "sysctl, by inotify", "link", "route"}

// keepers has the arguments of bench/keeper, the smallest daemon that repairs these.
var keepers = map[string][]string{"file": {"file", "/etc/lab/x"}, "link": {"link", "cbr0"},
	"sysctl, by inotify": {"sysctl", "/proc/sys/net/ipv4/tcp_fin_timeout"}, "route": {"route", fmt.Sprintf("10.244.9.0/24 via 10.77.0.%d", firstHop)}}

// measureDaemon measures three costs on a node of its own with a bridge network: of the daemon
// while nothing happens, the time until it repairs a change, and a look at the store that finds
// nothing new. With -short it takes fewer samples, for a first impression.
func measureDaemon(b *testing.B, r *results, programs map[string]string) {
	ctx := b.Context()
	idleFor, reactions, polls := time.Minute, 100, 8
	if testing.Short() {
		idleFor, reactions, polls = 20*time.Second, 20, 3
	}
	n := newCosted(b, map[string]string{"this": programs[home+"/agent"]}, programs)
	_, sum := assets.CNIArchive(b)
	spec := "  drift: {contested: {after: 1000, within: 10s}}\n  sysctlParameters: [net.ipv4.tcp_fin_timeout=30]\n" +
		"  fileAssets: [{name: x, path: /etc/lab/x, content: x}]\n"
	document := func(more string) string {
		return strings.Replace(cost(strings.Replace(spec, "[{", "["+more+"{", 1), 1400, firstHop), "SUM", sum, 1)
	}
	n.write(document(""))
	n.once(ctx)
	pid := n.restart(ctx, "store: /srv/netwright\ninterval: 10m\n")
	idle := n.stays(ctx, idleFor)
	r.figure("idle: RSS MB", mb(idle.rss))
	r.figure("idle: anonymous MB", mb(idle.anonymous))
	r.figure("idle: % of a processor", 100*float64(idle.cpu)/float64(idleFor))
	r.figure("idle: bytes written", float64(idle.written))
	all := n.reactions(ctx, pid, reactionKinds, reactions)
	for _, kind := range reactionKinds {
		r.reaction(kind, all[kind])
	}
	n.Must(ctx, "systemctl", "stop", "netwright-agent")
	for kind, args := range keepers {
		n.Start(ctx, "keeper", home+"/keeper", args...)
		time.Sleep(time.Second) // far more than the start needs
		pid := strings.TrimSpace(n.Must(ctx, "systemctl", "show", "-P", "MainPID", "keeper"))
		r.reaction(kind+", least daemon", n.reactions(ctx, pid, []string{kind}, reactions)[kind])
		n.Must(ctx, "systemctl", "stop", "keeper")
	}
	n.Must(ctx, "systemctl", "start", "netwright-agent")

	many := filepath.Join(n.Root(), filepath.Dir(costedDoc), "files/many")
	if err := os.MkdirAll(many, 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range 10_000 {
		if err := os.WriteFile(filepath.Join(many, fmt.Sprint(i)), fmt.Appendf(nil, "file %d\n", i), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for _, doc := range []string{document(`{path: /srv/many, source: files/many/, mode: "0644"}, `), document("")} {
		n.write(doc)
		n.Must(ctx, "netwright", "--once")
	}
	time.Sleep(settled)
	after := n.usage(ctx)
	r.figure("idle, after 10,000 files: RSS MB", mb(after.rss))
	r.figure("idle, after 10,000 files: anonymous MB", mb(after.anonymous))

	polled, took := n.polls(ctx, document(""), polls)
	quiet := time.Duration(float64(idle.cpu) * float64(took) / float64(idleFor))
	r.figure("poll of nothing new: CPU ms", ms(polled.cpu-quiet)/float64(polls))
	if polled.passes > 0 {
		b.Errorf("%d passes were made while nothing was new", polled.passes)
	}
}

// reaction records the median and the 99th percentile of these times.
func (r *results) reaction(kind string, took []time.Duration) {
	slices.Sort(took)
	r.figure("reaction: "+kind+", ms", ms(took[len(took)/2]))
	r.figure("reaction: "+kind+", p99 ms", ms(took[(99*len(took)+99)/100-1]))
}

// figure records one figure and prints it at once, so that a run that ends early has told
// something.
func (r *results) figure(name string, value float64) {
	r.figures[name] = value
	fmt.Printf("%s: %.2f\n", name, value)
}

func mb(kib int64) float64 { return float64(kib) * 1024 / 1e6 }

// usage has what the daemon of a node has used since its start, and what it holds now.
type usage struct {
	cpu, after     time.Duration // before and after the request for its status
	rss, anonymous int64         // KiB
	written        int64         // bytes written to a disk
	passes         int
}

func (n costed) usage(ctx context.Context) (u usage) {
	out := n.Must(ctx, "bash", "-euc", `p=$(systemctl show -P MainPID netwright-agent)
		used() { cat /proc/$p/task/*/schedstat | awk '{n+=$1} END{printf "%.0f\n", n}'; }
		used
		awk '/^VmRSS/{print $2} /^RssAnon/{print $2}' /proc/$p/status
		awk '/^write_bytes/{print $2}' /proc/$p/io
		exec 3<>/dev/tcp/127.0.0.1/19870
		printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
		awk '/^netwright_passes_total/{n+=$2} END{print n}' <&3
		used`)
	if _, err := fmt.Sscan(out, &u.cpu, &u.rss, &u.anonymous, &u.written, &u.passes, &u.after); err != nil {
		n.t.Fatalf("%q: the error is %v", out, err)
	}
	return u
}

// since returns what was used after before.
func (u usage) since(before usage) usage {
	u.cpu -= before.after // without the cost of the request
	u.written -= before.written
	u.passes -= before.passes
	return u
}

// settled is how long the events of a start, or of a new configuration, are looked at.
const settled = 10 * time.Second

// restart restarts the daemon, waits until it has nothing to do, and returns its process id on the
// node.
func (n costed) restart(ctx context.Context, conf string) (pid string) {
	if err := os.WriteFile(filepath.Join(n.Root(), "etc/netwright/agent.yaml"), []byte("node: node-1\n"+conf), 0o644); err != nil {
		n.t.Fatal(err)
	}
	n.Must(ctx, "systemctl", "restart", "netwright-agent")
	if !n.Await(ctx, "netwright status >/dev/null") {
		n.t.Fatal(n.Shell(ctx, "netwright status || true"))
	}
	time.Sleep(settled)
	return strings.TrimSpace(n.Must(ctx, "systemctl", "show", "-P", "MainPID", "netwright-agent"))
}

// stays returns what a daemon uses while nothing happens to it.
func (n costed) stays(ctx context.Context, long time.Duration) usage {
	before := n.usage(ctx)
	time.Sleep(long)
	return n.usage(ctx).since(before)
}

// polls returns what a daemon uses, and the time, for this many looks at a published store over
// HTTPS that has nothing new.
func (n costed) polls(ctx context.Context, document string, count int) (used usage, took time.Duration) {
	public, private, err := minisign.GenerateKey(crand.Reader)
	if err != nil {
		n.t.Fatal(err)
	}
	key, _ := public.MarshalText()
	words := strings.Fields(string(key))
	objects := new(storetest.MapStore)
	_, err = publisher.Publish(ctx, objects, publisher.Publication{Cluster: storetest.Cluster, Key: &private, Now: time.Now(),
		Objects: map[string][]byte{"cluster.yaml": []byte(strings.Replace(document, "costs.example.com", storetest.Cluster, 1)),
			"nodes/node-1.yaml": []byte(costedNode)}})
	if err != nil {
		n.t.Fatal(err)
	}
	var server *toxic.Server
	if err := n.Do(func() error { server = toxic.New(n.t, toxic.Files(objects), nil); return nil }); err != nil {
		n.t.Fatal(err)
	}
	n.Write("/etc/netwright/store.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})), 0o644)
	n.restart(ctx, fmt.Sprintf("store: %s\ncluster: %s\nstoreCA: /etc/netwright/store.pem\ntrustedKeys: [%s]\ninterval: 5s\n",
		server.URL, storetest.Cluster, words[len(words)-1]))
	server.Taken()
	before, began := n.usage(ctx), time.Now()
	var asked []string
	for len(asked) < count && ctx.Err() == nil {
		time.Sleep(time.Second)
		more, _ := server.Taken()
		asked = append(asked, more...)
	}
	used, took = n.usage(ctx).since(before), time.Since(began)
	if more, _ := server.Taken(); len(asked)+len(more) != count || slices.ContainsFunc(asked, func(one string) bool { return one != "GET manifest 304" }) {
		n.t.Errorf("the store was asked %q and %q, want %d times for the manifest, and no more", asked, more, count)
	}
	return used, took
}

// reactions returns how long changes of each kind last, each made when nothing else is under way. A
// pass that follows repairs is then either not yet due, or has ended.
func (n costed) reactions(ctx context.Context, pid string, kinds []string, count int) map[string][]time.Duration {
	took := map[string][]time.Duration{}
	err := n.Do(func() error {
		for i := range count * len(kinds) {
			kind := kinds[i%len(kinds)]
			change, right, err := n.reaction(kind)
			if err != nil {
				return err
			}
			time.Sleep(20*time.Millisecond + rand.N(40*time.Millisecond))
			began := time.Now()
			if err := change(); err != nil {
				return err
			}
			for !right() {
				if time.Since(began) > time.Minute || ctx.Err() != nil {
					return fmt.Errorf("%s: not right again after a minute", kind)
				}
				host.Pause(50 * time.Microsecond)
			}
			took[kind] = append(took[kind], time.Since(began))
			if kind == "link" || kind == "route" {
				n.settle(pid)
			}
		}
		return nil
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return took
}

// settle waits until the daemon has nothing to do.
func (n costed) settle(pid string) {
	const still, most = 300 * time.Millisecond, 10 * time.Second
	ran, since := n.ran(pid), time.Now()
	for end := since.Add(most); time.Since(since) < still && time.Now().Before(end); {
		time.Sleep(still / 10)
		if now := n.ran(pid); now-ran > time.Millisecond { // a look that finds nothing needs less
			ran, since = now, time.Now()
		}
	}
}

// ran returns how long the threads of a process of the node have run.
func (n costed) ran(pid string) (sum time.Duration) {
	threads, err := filepath.Glob(n.Path("/proc/" + pid + "/task/*/schedstat"))
	if err != nil || len(threads) == 0 {
		n.t.Fatalf("process %s has no threads: %v", pid, err)
	}
	for _, thread := range threads {
		text, _ := os.ReadFile(thread) // a thread that ended has none
		var ran time.Duration
		_, _ = fmt.Sscan(string(text), &ran)
		sum += ran
	}
	return sum
}

// reaction returns a function that makes a change, and one that says whether it is repaired.
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
	case "sysctl, by inotify": // a write through the node's own procfs
		return content(n.Path("/proc/sys/net/ipv4/tcp_fin_timeout"), "31")
	case "link":
		link, err := netlink.LinkByName("cbr0")
		return func() error { return netlink.LinkSetMTU(link, 1399) },
			func() bool { now, err := netlink.LinkByName("cbr0"); return err == nil && now.Attrs().MTU == 1400 }, err
	}
	_, dst, err := net.ParseCIDR("10.244.9.0/24")
	find := func() []netlink.Route {
		list, _ := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Dst: dst}, netlink.RT_FILTER_DST) // then none is listed
		return list
	}
	return func() error { return netlink.RouteDel(&netlink.Route{Dst: dst}) },
		func() bool { list := find(); return len(list) == 1 && list[0].Gw != nil }, err
}
