package watch

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/netns"
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

// Events of modules come from the kernel, which forwards those that root sends in a namespace.
// Events that the kernel dropped are one more look. The lines that keep it: modules.go,
// newModuleWatch and set.
func TestModulesOfTheKernelWake(t *testing.T) {
	w := New(Options{Root: t.TempDir()})
	u := newModuleWatch(w)
	ns := netns.New(t)
	send := func(event string) {
		ns.Do(func() {
			fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_KOBJECT_UEVENT)
			noError(t, err)
			body := event + "\x00ACTION=x\x00"
			b := binary.NativeEndian.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(body)))
			b = binary.NativeEndian.AppendUint16(b, unix.NLMSG_MIN_TYPE)
			b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST)
			b = append(append(b, make([]byte, unix.NLMSG_HDRLEN-len(b))...), body...)
			noError(t, unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}), unix.Close(fd))
		})
	}
	ns.Do(func() { noError(t, u.set(&Interest{Modules: []string{"br-netfilter"}})) })
	send("add@/module/wireguard")
	send("add@/module/br_netfilter")
	got := awaitWake(t, w, Modules, "br_netfilter")[Modules]
	u.lost()
	if lost := w.Take(); got.Events != 1 || got.Lost || len(lost) != 1 || lost[0].Source != Modules || !lost[0].Lost {
		t.Errorf("woke %+v, and when events are lost %+v", got, lost)
	}
	first := u.file
	noError(t, u.set(&Interest{Modules: []string{"wireguard"}}))
	if u.file != first {
		t.Error("another interest opens another socket")
	}
	send("add@/module/br_netfilter")
	send("remove@/module/wireguard")
	awaitWake(t, w, Modules, "wireguard")
	noError(t, u.close())
}
