package host

import (
	"fmt"
	"strings"
)

// FileReader reads a whole file; [hostfs.Files] implements it.
type FileReader interface {
	ReadFile(path string) ([]byte, error)
}

// BootID returns the id of the current boot, or "" where no kernel runs, as below an image's root.
// Its error says that the id cannot be read now. A caller that records the id must not go on then:
// the record would count as one of another boot.
func BootID(r FileReader) (string, error) {
	id, err := r.ReadFile("/proc/sys/kernel/random/boot_id")
	if Unread(err) {
		return "", fmt.Errorf("read the id of this boot: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
}

// IsOtherBoot reports whether a recorded boot is not the current one. It is false if the id of the
// current boot cannot be read now: a read error that passes must not end what lasts as long as the
// boot. Where no kernel runs, each recorded boot is another one.
func IsOtherBoot(r FileReader, noted string) bool {
	own, err := BootID(r)
	return err == nil && noted != own
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
