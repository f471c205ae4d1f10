package facts

import (
	"encoding/binary"
	"runtime"
)

// architecture returns the architecture of the running host, as GOARCH, or that of an image's
// programs: an image may be built on a machine of another architecture.
func architecture(l *Sources) string {
	if l.opt.live() {
		return runtime.GOARCH
	}
	for _, program := range []string{"/usr/lib/systemd/systemd", "/lib/systemd/systemd", "/usr/bin/env", "/bin/sh",
		"/sbin/init"} {
		if head, err := l.files.ReadFile(program); err == nil {
			if arch := ProgramArch(head); arch != "" {
				return arch
			}
		}
	}
	return runtime.GOARCH
}

// ProgramArch returns the architecture of a program, as GOARCH, from e_machine in its first bytes
// (elf(5)). It is "" if the file is no ELF file, or if Kubernetes does not support the
// architecture.
func ProgramArch(file []byte) string {
	if len(file) < 20 || string(file[:4]) != "\x7fELF" {
		return ""
	}
	var order binary.ByteOrder = binary.LittleEndian
	if file[5] == 2 {
		order = binary.BigEndian
	}
	return map[uint16]string{3: "386", 22: "s390x", 40: "arm", 62: "amd64", 183: "arm64",
		243: "riscv64"}[order.Uint16(file[18:])]
}
