package facts

import (
	"bytes"
	"encoding/binary"
	"path"
	"runtime"

	"github.com/netwright/netwright/pkg/host/kernel"
)

// architecture is the running host's, or that of an image's own programs: the
// two differ where an image is made on another machine. In GOARCH's words.
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

// ProgramArch is the architecture that a program is for, in GOARCH's words, by the e_machine of its
// first bytes (elf(5)); "" if it is no ELF file, or for one that Kubernetes has no nodes of.
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

// imageKernel says what modules the kernels of an image have. One that a
// kernel of several lacks is loadable: it is not known which will boot.
func imageKernel(l *Sources) KernelFacts {
	names, err := l.files.ReadDir("/lib/modules")
	if err != nil {
		return KernelFacts{}
	}
	facts := KernelFacts{}
	for _, release := range names {
		dir := path.Join("/lib/modules", release)
		deps, err := l.files.ReadFile(dir + "/modules.dep")
		if err != nil {
			continue // left behind by a kernel that was removed
		}
		builtin, _ := l.files.ReadFile(dir + "/modules.builtin") // none is the same as an empty one
		if facts.ModuleStates == nil {
			facts.Modules, facts.ModuleStates = true, map[string]kernel.ModuleState{}
			for _, name := range moduleNames {
				facts.ModuleStates[name] = kernel.ModuleMissing
			}
		}
		for _, list := range [][]byte{builtin, deps} {
			kernel.ReadModuleList(bytes.NewReader(list)).Mark(facts.ModuleStates, kernel.ModuleLoadable)
		}
	}
	return facts
}
