package kernel

import "golang.org/x/sys/unix"

// Reader reads the state of the running kernel below /proc and /sys. It opens these paths directly,
// not below a root, because no symlink in procfs leads out of it.
type Reader struct {
	Live bool   // false: an image, without a running kernel
	Proc string // "/proc", another directory in tests
	Sys  string // "/sys"
	Lib  string // "/lib/modules"

	Release string // as uname -r
	lists   moduleLists
}

// Open returns a Reader of the running kernel. If live is false, all methods return
// [sys.ErrNoLiveState].
func Open(live bool) *Reader {
	k := &Reader{Live: live, Proc: "/proc", Sys: "/sys", Lib: "/lib/modules"}
	var uts unix.Utsname
	if k.Live && unix.Uname(&uts) == nil {
		k.Release = unix.ByteSliceToString(uts.Release[:])
	}
	return k
}
