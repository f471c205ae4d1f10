package watch

import (
	"testing"

	"golang.org/x/net/bpf"
)

func TestModulesWake(t *testing.T) {
	var raw []bpf.RawInstruction
	for _, one := range moduleEvents() {
		raw = append(raw, bpf.RawInstruction{Op: one.Code, Jt: one.Jt, Jf: one.Jf, K: one.K})
	}
	code, _ := bpf.Disassemble(raw)
	filter, err := bpf.NewVM(code) // it refuses an instruction that bpf does not know
	noError(t, err)
	w := New(Options{Root: t.TempDir()})
	u := newModuleWatch(w)
	u.aim.Store(&map[string]bool{"br_netfilter": true})
	for event, want := range map[string]struct{ passes, wakes bool }{
		"add@/module/br_netfilter":                   {true, true},
		"remove@/module/br_netfilter":                {true, true},
		"add@/module/wireguard":                      {true, false},
		"add@/devices/virtual/net/veth0":             {},
		"remove@/devices/virtual/net/veth0/queues":   {},
		"change@/devices/platform/serial8250":        {},
		"remove@/kernel/slab/:0000256/cgroup/x(1:x)": {},
		"add@/mod": {passes: true},
		"add@":     {},
	} {
		n, err := filter.Run([]byte(event + "\x00ACTION=x"))
		if err != nil || (n > 0) != want.passes {
			t.Errorf("%s: the filter lets %d bytes through: %v", event, n, err)
		}
		w.Take()
		u.handle([]byte(event + "\x00ACTION=x"))
		if got := len(w.Take()) > 0; got != want.wakes {
			t.Errorf("%s: woke %v", event, got)
		}
	}
	// Only a module of the interest, or one that brings a key of it, causes an event.
	noError(t, u.set(&Interest{Sysctls: []string{"net.ipv4.ip_forward"}}))
	if u.file != nil {
		t.Error("it listens although nothing comes by a module")
	}
	noError(t, u.set(&Interest{Sysctls: []string{"net.bridge.bridge-nf-call-iptables"}}))
	if !(*u.aim.Load())["br_netfilter"] {
		t.Error("the module that brings a key is not heard")
	}
	noError(t, u.close())
}
