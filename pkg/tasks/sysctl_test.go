package tasks

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/test/netns"
)

func TestSysctl(t *testing.T) {
	ns := netns.New(t)
	in(t, ns, func(h *host.Host) {
		c := converge(t, h, Sysctl{Key: "net.ipv4.ip_forward", Value: "1"})
		wantLines(t, c, "~ sysctl:net.ipv4.ip_forward, value 0→1")
		converge(t, h, Sysctl{Key: "net/ipv4/tcp_rmem", Value: "4096  87380 16777216"})
		converge(t, h, Sysctl{Key: "net.ipv4.ip_local_reserved_ports", Value: "30000-32767,8080"})
	})
	for key, want := range map[string]string{
		"net/ipv4/ip_forward":              "1",
		"net/ipv4/tcp_rmem":                "4096\t87380\t16777216",
		"net/ipv4/ip_local_reserved_ports": "8080,30000-32767",
	} {
		if got := strings.TrimSpace(ns.Run("cat", "/proc/sys/"+key)); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// A written value is right, in whatever form the kernel prints it. The lines that keep it:
// sysctl.go, Plan; pkg/host/kernel/sysctl_compare.go, SameSysctl.
func TestSysctlInOtherWords(t *testing.T) {
	in(t, netns.New(t), func(h *host.Host) {
		for _, task := range []Sysctl{
			{Key: "net.ipv6.conf.default.stable_secret", Value: "fe80::1"},
			{Key: "net.ipv4.tcp_fastopen_key", Value: "AABBCCDD-1-2-3"},
			{Key: "net.ipv4.tcp_rmem", Value: "8192"},
			{Key: "net.core.rps_default_mask", Value: "01"},
			{Key: "net.ipv4.ip_local_reserved_ports", Value: "0x10,010"},
		} {
			converge(t, h, task)
		}
	})
}

// A key without a value gets one and keeps it: neither a reset nor an undo removes it. A key that
// had a value gets that value back. The lines that keep it: sysctl.go, Plan, Live and Restored
// (ErrNoValue).
func TestSysctlWithoutAValue(t *testing.T) {
	const key, net = "net.ipv6.conf.lo.stable_secret", "fe80:0000:0000:0000:0000:0000:0000:000"
	const first, second = net + "1", net + "2"
	in(t, netns.New(t), func(h *host.Host) {
		none, err := Sysctl{Key: key}.Baseline(t.Context(), h.Live.View())
		if err != nil || none.Live != "" {
			t.Fatalf("before: %+v, %v", none, err)
		}
		wantLines(t, converge(t, h, Sysctl{Key: key, Value: first}), "~ sysctl:"+key+", value →"+first)
		if right, err := (Sysctl{Key: key}).Restored(t.Context(), h.Live.View(), none); err != nil || !right {
			t.Errorf("there is something to bring back where nothing was: %v", err)
		}
		was, err := Sysctl{Key: key}.Baseline(t.Context(), h.Live.View())
		ok(t, err)
		converge(t, h, Sysctl{Key: key, Value: second})
		if right, err := (Sysctl{Key: key}).Restored(t.Context(), h.Live.View(), was); err != nil || right {
			t.Errorf("another value is as it was: %v", err)
		}
		ok(t, Sysctl{Key: key}.Restore(t.Context(), h, was))
		if c := plan(t, Sysctl{Key: key, Value: first}, h.Live.View()); c != nil {
			t.Errorf("not brought back: %v", lines(c))
		}
	})
}

func TestSysctlOrderKeepsWhatForwardingResets(t *testing.T) {
	tasks := []Sysctl{
		{Key: "net.ipv4.conf.all.accept_redirects", Value: "1"},
		{Key: "net.ipv4.conf.default.rp_filter", Value: "2"},
		{Key: "net.ipv4.ip_forward", Value: "1"},
		{Key: "net.ipv6.conf.all.forwarding", Value: "1"},
		{Key: "net.ipv6.conf.default.accept_ra", Value: "2"},
		{Key: "net.ipv6.conf.all.accept_ra", Value: "2"},
		{Key: "net.ipv6.conf.lo.addr_gen_mode", Value: "3"},
		{Key: "net.ipv6.conf.all.addr_gen_mode", Value: "1"},
		{Key: "net.ipv6.conf.lo.stable_secret", Value: "fe80::1"},
		{Key: "net.ipv6.conf.default.stable_secret", Value: "fe80::2"},
	}
	var nodes []Task
	for i := range tasks {
		nodes = append(nodes, tasks[i])
	}
	g, err := graph.New(nodes, AsNodes{}, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, task := range g.Order() {
		order = append(order, task.(Sysctl).Key)
	}
	for _, pair := range [][2]string{
		{"net.ipv4.ip_forward", "net.ipv4.conf.all.accept_redirects"},
		{"net.ipv4.ip_forward", "net.ipv4.conf.default.rp_filter"},
		{"net.ipv6.conf.all.accept_ra", "net.ipv6.conf.all.forwarding"},
		{"net.ipv6.conf.default.accept_ra", "net.ipv6.conf.all.forwarding"},
	} {
		if slices.Index(order, pair[0]) > slices.Index(order, pair[1]) {
			t.Errorf("%s comes after %s: %v", pair[0], pair[1], order)
		}
	}
	in(t, netns.New(t), func(h *host.Host) {
		for _, key := range order {
			task := tasks[slices.IndexFunc(tasks, func(s Sysctl) bool { return s.Key == key })]
			if c := plan(t, task, h.Live.View()); c != nil {
				ok(t, task.Apply(t.Context(), h, c))
			}
		}
		for _, task := range tasks {
			if c := plan(t, task, h.Live.View()); c != nil {
				t.Errorf("not kept: %v", lines(c))
			}
		}
	})
}

func TestSysctlNeeds(t *testing.T) {
	for key, want := range map[string][]graph.Key{
		"net.bridge.bridge-nf-call-iptables": {"module:br_netfilter"},
		"net.ipv4.conf.cbr0.rp_filter":       {"link:cbr0", "sysctl:net.ipv4.ip_forward", "sysctl:net.ipv4.conf.all.rp_filter", "sysctl:net.ipv4.conf.default.rp_filter"},
		"net.ipv6.conf.eth0/1.forwarding":    {"link:eth0.1", "sysctl:net.ipv6.conf.all.forwarding", "sysctl:net.ipv6.conf.default.forwarding", "sysctl:net.ipv6.conf.eth0/1.accept_ra"},
		"net.ipv6.conf.eth0.addr_gen_mode":   {"link:eth0", "sysctl:net.ipv6.conf.all.addr_gen_mode", "sysctl:net.ipv6.conf.default.addr_gen_mode", "sysctl:net.ipv6.conf.default.stable_secret", "sysctl:net.ipv6.conf.eth0.stable_secret"},
		"net.ipv4.ip_forward":                nil,
		"vm.max_map_count":                   nil,
	} {
		if got := (Sysctl{Key: key}).needs(); !slices.Equal(got, want) {
			t.Errorf("%s needs %v, want %v", key, got, want)
		}
	}
	if a, b := (Sysctl{Key: "net/ipv4/ip_forward"}).Owns(), (Sysctl{Key: "net.ipv4.ip_forward"}).Owns(); !slices.Equal(a, b) {
		t.Errorf("one key, two owners: %v, %v", a, b)
	}
}

func TestSysctlOfTheHostIsListedAndNeverSet(t *testing.T) {
	in(t, netns.New(t), func(h *host.Host) {
		before, err := h.Live.Kernel.Sysctl("kernel.panic")
		ok(t, err)
		task := Sysctl{Key: "kernel.panic", Value: before + "1"}
		c := plan(t, task, h.Live.View())
		if c == nil || c.NotApplicable != "host-wide, not set here" {
			t.Errorf("planned %+v", c)
		}
		if err := task.Apply(t.Context(), h, c); err == nil || !strings.Contains(err.Error(), "whole machine") {
			t.Errorf("apply: %v", err)
		}
		if after, err := h.Live.Kernel.Sysctl("kernel.panic"); err != nil || after != before {
			t.Errorf("kernel.panic was %s and is %s (%v)", before, after, err)
		}
		// The key does not exist in a network namespace, and does not concern it.
		c = plan(t, Sysctl{Key: "net.ipv4.neigh.default.gc_thresh1", Value: "0"}, h.Live.View())
		if c == nil || c.NotApplicable == "" {
			t.Errorf("planned %+v", c)
		}
		// A right value is right, whoever set it.
		if c := plan(t, Sysctl{Key: "kernel.panic", Value: before}, h.Live.View()); c != nil {
			t.Errorf("planned %+v", c)
		}
	})
}

func TestSysctlThatIsAbsent(t *testing.T) {
	in(t, netns.New(t), func(h *host.Host) {
		pending := host.NewPending(nil)
		pending.Add(host.Fact{Key: "link:cbr0"}, host.Fact{Key: "module:ip_vs"})
		later := pending.Over(h.Live.View())
		link := Sysctl{Key: "net.ipv4.conf.cbr0.rp_filter", Value: "0"}
		c := plan(t, link, later)
		if c == nil || c.Reason != "absent until link cbr0 exists" || c.Unknown != "" {
			t.Errorf("planned %+v", c)
		}
		wantLines(t, c, "+ sysctl:net.ipv4.conf.cbr0.rp_filter, value →0")
		if _, err := link.Plan(t.Context(), h.Live.View()); !graph.IsWait(err) {
			t.Errorf("without the link: %v, want a wait", err)
		}
		module := Sysctl{Key: "net.ipv4.vs.conntrack", Value: "1"}
		if _, err := h.Live.Kernel.Sysctl(module.Key); errors.Is(err, host.ErrNotExist) {
			if c := plan(t, module, later); c == nil || c.Reason != "absent until module ip_vs is loaded" {
				t.Errorf("planned %+v", c)
			}
		}
		if c := plan(t, Sysctl{Key: "net.ipv4.none", Value: "1", Optional: true}, h.Live.View()); c != nil {
			t.Errorf("an optional key: %+v", c)
		}
		wantError(t, Sysctl{Key: "net.ipv4.none", Value: "1"}, h.Live.View(), "net.ipv4.none", "no such key", "correct its name")
		if state, _ := h.Live.Kernel.Module("nf_conntrack"); state == kernel.ModuleLoaded || state == kernel.ModuleBuiltin {
			v := h.Live.View()
			machine := *v.Facts
			machine.Contain, v.Facts = "", &machine
			wantError(t, Sysctl{Key: "net.netfilter.nf_conntrack_helper", Value: "1"}, v, "no such key") // since Linux 6.0
		}
		wantError(t, Sysctl{Key: "../x", Value: "1"}, h.Live.View(), "no sysctl key")
	})
}

func TestSysctlInAnImage(t *testing.T) {
	h, _ := onDisk(t)
	if c := plan(t, Sysctl{Key: "net.ipv4.ip_forward", Value: "1"}, h.Live.View()); c == nil || c.NotApplicable == "" {
		t.Errorf("planned %+v", c)
	}
}

func TestSysctlDisruption(t *testing.T) {
	for key, value := range map[string]string{"net.ipv6.conf.all.forwarding": "1", "net.ipv4.ip_forward": "0", "net.ipv6.conf.eth0.accept_ra": "2"} {
		if sysctlDisruption(key, value) != MayCutOff {
			t.Errorf("%s=%s is called harmless", key, value)
		}
	}
	if sysctlDisruption("net.ipv4.ip_forward", "1") != NoDisruption {
		t.Error("to forward cuts nobody off")
	}
}
