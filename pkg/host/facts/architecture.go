package facts

import (
	"bytes"
	"encoding/binary"
	"path"
	"runtime"

	"github.com/netwright/netwright/pkg/host/kernel"
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

// imageKernel returns the modules of the kernels in an image. If one of several kernels has a
// module, the module counts as loadable, because it is unknown which kernel will boot.
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
			continue // left by a removed kernel
		}
		builtin, _ := l.files.ReadFile(dir + "/modules.builtin") // missing is like empty
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
