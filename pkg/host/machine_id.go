package host

import "strings"

// FileReader reads a whole file; [hostfs.Files] implements it.
type FileReader interface {
	ReadFile(path string) ([]byte, error)
}

// BootID returns the id of the current boot, or "" where no kernel runs, as below an image's root.
func BootID(r FileReader) string {
	id, _ := r.ReadFile("/proc/sys/kernel/random/boot_id") // if this fails: ""
	return strings.TrimSpace(string(id))
}

// MachineID returns the machine-id, or "" if the machine has none yet.
// https://www.freedesktop.org/software/systemd/man/latest/machine-id.html
func MachineID(r FileReader) string {
	data, _ := r.ReadFile("/etc/machine-id") // if this fails, IsOtherMachine is false
	id := strings.TrimSpace(string(data))
	if id == "uninitialized" { // systemd writes this word in an image
		return ""
	}
	return id
}

// IsOtherMachine reports whether a recorded machine-id belongs to another machine. It is false if
// the recorded id or the id of this machine is unknown: a read error that passes must not make the
// agent give up what it owns.
func IsOtherMachine(r FileReader, noted string) bool {
	if noted == "" {
		return false
	}
	own := MachineID(r)
	return own != "" && noted != own
}
