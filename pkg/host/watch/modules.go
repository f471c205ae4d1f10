package watch

import (
	"bytes"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/kernel"
)

// moduleWatch notices when modules are loaded and unloaded, by the kernel's uevents. A filter drops
// uevents of devices, because each pod causes several.
type moduleWatch struct {
	multicast
	aim atomic.Pointer[map[string]bool]
}

func newModuleWatch(w *Watcher) *moduleWatch {
	const fromKernel = 1 // the multicast group of the kernel; udev's is 2
	u := &moduleWatch{multicast: multicast{listener: listener{w: w, source: Modules}, protocol: unix.NETLINK_KOBJECT_UEVENT,
		groups: []int{fromKernel}, filter: moduleEvents()}}
	u.received, u.lost = u.handle, func() { w.trigger(Modules, tooMany, true) }
	return u
}

func (u *moduleWatch) set(i *Interest) error {
	aim := map[string]bool{}
	for _, m := range i.Modules {
		aim[strings.ReplaceAll(m, "-", "_")] = true
	}
	for _, key := range i.Sysctls {
		if m := kernel.SysctlModule(key); m != "" { // this module adds the key
			aim[m] = true
		}
	}
	u.aim.Store(&aim)
	if u.ended() && len(aim) > 0 {
		return u.listen()
	}
	return nil
}

// moduleEvents accepts only messages that begin with add@/module/ or remove@/module/
// (lib/kobject_uevent.c: action, @ and path come first).
func moduleEvents() []unix.SockFilter {
	begins := func(with string, yes, no uint8) unix.SockFilter {
		return ifA(unix.BPF_JEQ, number([]byte(with)), yes, no)
	}
	return []unix.SockFilter{
		loadA(unix.BPF_ABS|unix.BPF_W, 0), begins("add@", 0, 2),
		loadA(unix.BPF_ABS|unix.BPF_W, 4), begins("/mod", 3, 4),
		begins("remo", 0, 3),
		loadA(unix.BPF_ABS|unix.BPF_W, 7), begins("/mod", 0, 1),
		accept, drop,
	}
}

func (u *moduleWatch) handle(b []byte) {
	head, _, _ := bytes.Cut(b, []byte{0})
	if _, name, ok := bytes.Cut(head, []byte("@/module/")); ok && (*u.aim.Load())[string(name)] {
		u.w.trigger(Modules, string(name), false)
	}
}
