package watch

import (
	"bytes"
	"strings"
	"sync/atomic"

	"golang.org/x/net/bpf"
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
		groups: []int{fromKernel}, filter: moduleEvents}}
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
// (lib/kobject_uevent.c: action, @ and path come first). The words are big-endian.
var moduleEvents = []bpf.Instruction{
	bpf.LoadAbsolute{Off: 0, Size: 4},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: bpfWord("add@"), SkipTrue: 0, SkipFalse: 2},
	bpf.LoadAbsolute{Off: 4, Size: 4},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: bpfWord("/mod"), SkipTrue: 3, SkipFalse: 4},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: bpfWord("remo"), SkipTrue: 0, SkipFalse: 3},
	bpf.LoadAbsolute{Off: 7, Size: 4},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: bpfWord("/mod"), SkipTrue: 0, SkipFalse: 1},
	bpf.RetConstant{Val: 1 << 16},
	bpf.RetConstant{Val: 0},
}

func bpfWord(s string) uint32 {
	return uint32(s[0])<<24 | uint32(s[1])<<16 | uint32(s[2])<<8 | uint32(s[3])
}

func (u *moduleWatch) handle(b []byte) {
	head, _, _ := bytes.Cut(b, []byte{0})
	if _, name, ok := bytes.Cut(head, []byte("@/module/")); ok && (*u.aim.Load())[string(name)] {
		u.w.trigger(Modules, string(name), false)
	}
}
