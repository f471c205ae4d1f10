package host

import "strings"

// FileReader reads a file at once; [hostfs.Files] is one.
type FileReader interface {
	ReadFile(path string) ([]byte, error)
}

// BootID names the boot that goes on; "" where none does, as below an image's root.
func BootID(r FileReader) string {
	id, _ := r.ReadFile("/proc/sys/kernel/random/boot_id") // without it no boot is this one
	return strings.TrimSpace(string(id))
}

// MachineID tells this machine from others; "" where it has none yet.
// https://www.freedesktop.org/software/systemd/man/latest/machine-id.html
func MachineID(r FileReader) string {
	data, _ := r.ReadFile("/etc/machine-id") // without it no other machine is told from this one
	id := strings.TrimSpace(string(data))
	if id == "uninitialized" { // systemd's word for it, in an image
		return ""
	}
	return id
}

// IsOtherMachine says that a machine-id that was noted is another machine's. Where it is not known
// whose it was or which this one's is, it is no other: a file that cannot be read for a moment must
// not let go of what is held.
func IsOtherMachine(r FileReader, noted string) bool {
	if noted == "" {
		return false
	}
	own := MachineID(r)
	return own != "" && noted != own
}
