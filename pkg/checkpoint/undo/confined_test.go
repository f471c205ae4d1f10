package undo

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// confine takes from a test's thread what the unit netwright-undo.service does not have: the right
// to give files capabilities, and the right to give set-ID bits (systemd.exec(5),
// RestrictSUIDSGID=). The thread ends with the test.
func confine(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	err := unix.Capget(&head, &sets[0])
	sets[0].Effective &^= 1 << unix.CAP_SETFCAP
	const result, number, secondArgument = unix.BPF_RET | unix.BPF_K, 0, 24 // of struct seccomp_data
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FCHMOD, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: secondArgument},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.S_ISUID | unix.S_ISGID, Jf: 1},
		{Code: result, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: result, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := errors.Join(err, unix.Capset(&head, &sets[0]), unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
		unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)); err != nil {
		t.Fatal(err)
	}
}

// privileged makes files that a confined process cannot make: a program with a capability, a
// program with set-ID bits, and a directory with them. It also makes a normal file.
func privileged(t *testing.T, root string) {
	t.Helper()
	// The capability is cap_net_raw=ep, see include/uapi/linux/capability.h.
	const netRaw = "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	if err := errors.Join(os.Mkdir(root+"/shared", 0o755), os.Chmod(root+"/shared", 0o775|os.ModeSetgid),
		os.WriteFile(root+"/ping", []byte("old"), 0o755), os.WriteFile(root+"/helper", []byte("old"), 0o755),
		os.Chmod(root+"/helper", 0o755|os.ModeSetuid), os.WriteFile(root+"/uplink.network", []byte("old"), 0o644),
		unix.Setxattr(root+"/ping", capability, []byte(netRaw), 0)); err != nil {
		t.Fatal(err)
	}
}

var privilegedPaths = []string{"/shared", "/ping", "/helper", "/uplink.network"}

// change replaces these files by others, and changes the directory's mode.
func change(t *testing.T, root string) {
	t.Helper()
	for _, name := range privilegedPaths[1:] {
		if err := errors.Join(os.Remove(root+name), os.WriteFile(root+name, []byte("new"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(root+"/shared", 0o700); err != nil {
		t.Fatal(err)
	}
}

// A service of ours may set neither capabilities nor set-ID bits. What it restores has them all the
// same, since the files themselves were kept. The lines that keep it: capture.go, file
// (privileged); pkg/host/hostfs/filespec.go, setMeta (info.Mode == spec.Mode).
func TestAConfinedUndoBringsCapabilitiesBack(t *testing.T) {
	root, h := openRoot(t)
	privileged(t, root)
	c := Capture{Host: h, Log: &Log{}, Dir: "/kept", Twin: func(string) string { return "" }}
	err := os.Mkdir(root+"/kept", 0o700)
	for _, name := range privilegedPaths {
		err = errors.Join(err, c.file(name))
	}
	if err := errors.Join(err, c.SaveFiles(t.Context())); err != nil {
		t.Fatal(err)
	}
	change(t, root)
	confine(t)
	r := Restore(h, c.Log, false)
	if err := r.Files(t.Context()); err != nil || len(r.Left) != 1 || !strings.Contains(r.Left[0], "/shared") {
		t.Errorf("%v, left %q, want the bits of /shared", err, r.Left)
	}
	for name, mode := range map[string]os.FileMode{"/ping": 0o755, "/helper": 0o755 | os.ModeSetuid, "/uplink.network": 0o644} {
		info, err := os.Stat(root + name)
		if text, errRead := os.ReadFile(root + name); err != nil || errRead != nil || string(text) != "old" || info.Mode() != mode {
			t.Errorf("%s: text %q, info.Mode() %v, error %v, errRead %v", name, text, info.Mode(), err, errRead)
		}
	}
	if n, err := unix.Getxattr(root+"/ping", capability, make([]byte, 99)); n != 20 {
		t.Errorf("the capability: %d bytes, %v", n, err)
	}
}

// If a service of ours may not restore a file, it restores everything else and reports that file. A
// journal of an earlier release has the content of such files. The lines that keep it: restore.go,
// Files (unprivileged); pkg/host/hostfs/batch.go, Put (withdraw).
func TestAConfinedUndoBringsAllElseBack(t *testing.T) {
	root, h := openRoot(t)
	privileged(t, root)
	l := &Log{}
	for _, name := range privilegedPaths {
		was, err := h.Live.Files.Capture(name, maxContents)
		if err != nil {
			t.Fatal(err)
		}
		l.Files = append(l.Files, File{Path: name, Type: was.Type, Mode: was.Mode, Content: was.Content, Attrs: was.Attrs})
	}
	change(t, root)
	confine(t)
	r := Restore(h, l, false)
	if err := r.Files(t.Context()); err != nil || len(r.Left) != 3 {
		t.Errorf("%v, left %q, want three things", err, r.Left)
	}
	for _, name := range privilegedPaths[1:] {
		if text, err := os.ReadFile(root + name); err != nil || string(text) != "old" {
			t.Errorf("%s: ReadFile returns %q, %v, want %q", name, text, err, "old")
		}
	}
	if info, err := os.Stat(root + "/shared"); err != nil || info.Mode().Perm() != 0o775 {
		t.Errorf("/shared: %v, %v", info.Mode(), err)
	}
}
