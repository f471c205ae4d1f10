// Command pin loads an eBPF program that passes every packet, and pins it under a name, so that
// `tc` and `ip` can attach it. It can also attach the program to the root of cgroup2. The programs
// of a distribution cannot do this without a compiler. Tests run it in nodes.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: pin tc|xdp NAME FILE, or pin cgroup NAME DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "pin:", err)
		os.Exit(1)
	}
}

func run(kind, name, where string) error {
	spec := map[string]ebpf.ProgramSpec{
		"tc":     {Type: ebpf.SchedCLS},
		"xdp":    {Type: ebpf.XDP},
		"cgroup": {Type: ebpf.CGroupSockAddr, AttachType: ebpf.AttachCGroupInet4Connect},
	}[kind]
	verdict := map[string]int32{"tc": -1, "xdp": 2, "cgroup": 1}[kind]
	spec.Name, spec.License = name, "MIT"
	spec.Instructions = asm.Instructions{asm.Mov.Imm(asm.R0, verdict), asm.Return()}
	p, err := ebpf.NewProgram(&spec)
	if err != nil {
		return err
	}
	defer p.Close()
	if kind != "cgroup" {
		return p.Pin(where)
	}
	dir, err := os.Open(where)
	if err != nil {
		return err
	}
	const allowMulti = 1 << 1 // BPF_F_ALLOW_MULTI
	err = link.RawAttachProgram(link.RawAttachProgramOptions{Target: int(dir.Fd()), Program: p, Attach: spec.AttachType, Flags: allowMulti})
	return errors.Join(err, dir.Close())
}
