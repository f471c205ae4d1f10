package traffic

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/verify"
	"github.com/netwright/netwright/pkg/verify/testpod"
	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/netns"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stage is a node in a namespace: a bridge, masquerading, and an uplink without another end.
type stage struct {
	*netns.NS
	t    *testing.T
	want Options
}

func newStage(t *testing.T) *stage {
	s := &stage{NS: netns.New(t), t: t}
	dir := t.TempDir()
	conf := `{"cniVersion":"1.0.0","name":"netwright-test","plugins":[
		{"type":"bridge","bridge":"cbr0","isGateway":true,"hairpinMode":true,"mtu":1450,"ipam":{"type":"host-local","dataDir":"` + dir + `/leases",
			"ranges":[[{"subnet":"10.96.1.0/24"}]],"routes":[{"dst":"0.0.0.0/0"}]}},
		{"type":"portmap","capabilities":{"portMappings":true},"backend":"nftables"}]}`
	ok(t, os.WriteFile(filepath.Join(dir, "05-test.conflist"), []byte(conf), 0o600))
	s.want = Options{ConfDir: dir, BinDirs: []string{assets.CNIPlugins(t)}, Masquerades: true, node: s.Path(),
		Unmasqueraded: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/16")}}
	for _, line := range strings.Split(`link add up0 type bridge
link set up0 up
addr add 10.77.0.11/24 dev up0
addr add fd00:77::11/64 dev up0 nodad
route add default via 10.77.0.1
-6 route add default via fd00:77::1
link add cbr0 type bridge
link set cbr0 up mtu 1450
addr add 10.96.1.1/24 dev cbr0`, "\n") {
		s.Run("ip", strings.Fields(line)...)
	}
	for _, key := range []string{"ipv4.ip_forward", "ipv6.conf.all.forwarding", "bridge.bridge-nf-call-iptables", "bridge.bridge-nf-call-ip6tables"} {
		s.set(key, "1")
	}
	s.Run("nft", "table inet masq { chain post { type nat hook postrouting priority 100; ip saddr 10.96.1.0/24 ip daddr != 10.0.0.0/8 masquerade; }; }")
	return s
}

func (s *stage) set(key, value string) {
	s.Do(func() { ok(s.t, os.WriteFile("/proc/sys/net/"+strings.ReplaceAll(key, ".", "/"), []byte(value), 0)) })
}

// open calls do with a host, within the stage.
func (s *stage) open(do func(*host.Host)) {
	s.t.Helper()
	s.Do(func() {
		h, err := host.Open(s.t.Context(), host.Options{Root: "/"})
		ok(s.t, err)
		defer h.Close()
		do(h)
	})
}

// prove returns the result of a proof on the stage, a line for each check that failed. What the
// proof leaves behind is an error.
func (s *stage) prove() (bad []string) {
	s.t.Helper()
	before := s.seen()
	s.open(func(h *host.Host) {
		for _, r := range Prove(s.t.Context(), h, s.want) {
			if r.State != verify.OK {
				bad = append(bad, fmt.Sprintf("%s %s: %s → %s", r.Check, r.State, r.Seen, r.Next))
			}
		}
	})
	if after := s.seen(); after != before {
		s.t.Errorf("a proof left something behind:\n%s\nbefore:\n%s", after, before)
	}
	return bad
}

// seen returns all that a proof could change on the stage.
func (s *stage) seen() string {
	leases, _ := filepath.Glob(s.want.ConfDir + "/leases/netwright-test/*.*.*.*")
	namespaces, _ := filepath.Glob("/run/netns/netwright-verify-*")
	cached, _ := filepath.Glob(testpod.Cache + "/results/netwright-test-verify-*")
	tables := s.Run("nft", "list", "tables")
	tables = strings.ReplaceAll(tables, "table ip cni_hostport\n", "") // portmap's own table stays empty
	var links []string
	for line := range strings.Lines(s.Run("ip", "-br", "link")) {
		links = append(links, strings.Fields(line)[0])
	}
	return s.Run("ip", "-o", "-4", "address") + strings.Join(links, " ") + "\n" + tables + fmt.Sprint(leases, namespaces, cached)
}

// inOwnRun is set where this test program has a /run of its own.
const inOwnRun = "NETWRIGHT_TEST_IN_OWN_RUN"

// TestProve runs itself with a /run of its own. The pods of a proof have the same names on the
// whole machine, and other programs may test there, too.
func TestProve(t *testing.T) {
	needs.Root(t)
	if os.Getenv(inOwnRun) != "" {
		testProve(t)
		return
	}
	self, err := os.Executable()
	ok(t, err)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `mount -t tmpfs none /run && exec "$0" -test.run='^TestProve$' -test.v -test.timeout=10m`, self)
	cmd.Env = append(os.Environ(), inOwnRun+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func testProve(t *testing.T) {
	s := newStage(t)
	if bad := s.prove(); len(bad) > 0 { // it also makes what plugins leave: the bridge's addresses
		t.Errorf("all is well:\n%s", strings.Join(bad, "\n"))
	}
	conf := s.want.ConfDir + "/05-test.conflist"
	edit := func(from, to string) {
		t.Helper()
		text, err := os.ReadFile(conf)
		ok(t, err)
		if !strings.Contains(string(text), from) {
			t.Fatalf("the conf has no %s", from)
		}
		ok(t, os.WriteFile(conf, []byte(strings.Replace(string(text), from, to, 1)), 0o600))
	}
	masquerade := func(rule string) { s.Run("nft", "flush chain inet masq post; "+rule) }
	const rule = "add rule inet masq post ip saddr 10.96.1.0/24 ip daddr != 10.0.0.0/8 masquerade"
	for _, c := range []struct {
		name        string
		spoil, mend func()
		want        []string // one complaint each, in order
	}{
		{"bridged packets pass by iptables", func() { s.set("bridge.bridge-nf-call-iptables", "0") }, func() { s.set("bridge.bridge-nf-call-iptables", "1") },
			[]string{"pod to service failed: ask 198.51.100.10:8080: no answer → net.bridge.bridge-nf-call-iptables is 0"}},
		{"FORWARD drops", func() {
			s.Run("nft", "table inet drops { chain forward { type filter hook forward priority 0; policy drop; }; }")
		},
			func() { s.Run("nft", "delete table inet drops") },
			[]string{"pod to pod failed", "pod to service failed", "hairpin failed", "outside to service failed", "pod to outside failed", "masquerade not here", "MTU failed"}},
		{"nothing masquerades", func() { masquerade("") }, func() { masquerade(rule) }, []string{"masquerade failed: the outside (198.51.100.2) sees the pod's own 10.96.1."}},
		{"all is masqueraded", func() { masquerade("add rule inet masq post ip saddr 10.96.1.0/24 masquerade") }, func() { masquerade(rule) },
			[]string{"masquerade failed: another pod of this node (10.96.1."}},
		{"no hairpin", func() { edit(`"hairpinMode":true`, `"hairpinMode":false`) }, func() { edit(`"hairpinMode":false`, `"hairpinMode":true`) },
			[]string{"hairpin failed: ask 198.51.100.10:8080: no answer → is hairpin mode on"}},
		{"no hostPort", func() { edit(`"capabilities":{"portMappings":true}`, `"x":0`) }, func() { edit(`"x":0`, `"capabilities":{"portMappings":true}`) }, []string{"outside to service not here: the conf's chain has nothing"}},
		{"the plugin refuses", func() { edit(`"bridge":"cbr0"`, `"bridge":"up0"`) }, func() { edit(`"bridge":"up0"`, `"bridge":"cbr0"`) }, []string{"pods failed: add pod verify-a to network netwright-test"}},
		{"no conf", func() { ok(t, os.Rename(conf, conf+".off")) }, func() { ok(t, os.Rename(conf+".off", conf)) }, []string{"pods waiting: no CNI conf in"}},
	} {
		c.spoil()
		bad := s.prove()
		for i, want := range c.want {
			if len(bad) != len(c.want) || !strings.Contains(bad[i], want) {
				t.Errorf("%s: got\n%s\nwant\n%s", c.name, strings.Join(bad, "\n"), strings.Join(c.want, "\n"))
				break
			}
		}
		c.mend()
	}
	if bad := s.prove(); len(bad) > 0 {
		t.Errorf("all is well again:\n%s", strings.Join(bad, "\n"))
	}
}
