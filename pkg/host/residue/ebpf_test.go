package residue

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/netns"
)

func ok(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// program loads a program that lets every packet pass.
func program(t *testing.T, kind ebpf.ProgramType, attach ebpf.AttachType, name string, verdict int32) *ebpf.Program {
	t.Helper()
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: name, Type: kind, AttachType: attach, License: "MIT",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, verdict), asm.Return()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestProgramsAreDetachedByName(t *testing.T) {
	needs.Root(t)
	needs.Tool(t, "tc")
	ns := netns.New(t)
	ns.Run("ip", "link", "add", "up0", "type", "veth", "peer", "name", "up1")
	ns.Run("tc", "qdisc", "add", "dev", "up0", "clsact")
	ns.Run("tc", "qdisc", "add", "dev", "up1", "clsact")
	ns.Run("tc", "filter", "add", "dev", "up1", "egress", "u32", "match", "u32", "0", "0", "classid", "1:1")
	const pass, ok1 = -1, 2 // TC_ACT_UNSPEC, XDP_PASS
	cls := program(t, ebpf.SchedCLS, 0, "any", pass)
	xdp := program(t, ebpf.XDP, 0, "cil_xdp_entry", ok1)
	ns.Do(func() {
		attach := func(dev, name string, parent uint32, priority uint16) {
			l, err := netlink.LinkByName(dev)
			ok(t, err)
			ok(t, netlink.FilterAdd(&netlink.BpfFilter{Name: name, Fd: cls.FD(), DirectAction: true,
				FilterAttrs: netlink.FilterAttrs{LinkIndex: l.Attrs().Index, Parent: parent, Priority: priority, Protocol: 3 << 8}}))
		}
		attach("up0", "cil_from_netdev-up0", netlink.HANDLE_MIN_INGRESS, 1)
		attach("up0", "cil_to_netdev-up0", netlink.HANDLE_MIN_EGRESS, 1)
		attach("up1", "cil_from_netdev-up1", netlink.HANDLE_MIN_INGRESS, 1)
		attach("up1", "other", netlink.HANDLE_MIN_INGRESS, 2)
		up0, err := netlink.LinkByName("up0")
		ok(t, err)
		ok(t, netlink.LinkSetXdpFdWithFlags(up0, xdp.FD(), 1<<1))

		for _, name := range []string{"cil_to_container", "other_tcx"} {
			held, err := link.AttachTCX(link.TCXOptions{Program: program(t, ebpf.SchedCLS, ebpf.AttachTCXIngress, name, pass), Attach: ebpf.AttachTCXIngress, Interface: up0.Attrs().Index})
			ok(t, err)
			defer held.Close()
		}
		h, ctx := Writer{Reader: Reader{Live: true}}, t.Context()
		all, err := h.Programs(ctx)
		ok(t, err)
		var got []string
		for _, p := range all {
			if p.Hook == HookCgroup {
				continue // a program of this machine
			}
			got = append(got, p.String())
			if strings.HasPrefix(p.Name, "cil_") {
				ok(t, h.DetachProgram(ctx, p))
				ok(t, h.DetachProgram(ctx, p))
			}
		}
		slices.Sort(got)
		want := "tc up0 egress cil_to_netdev-up0\ntc up0 ingress cil_from_netdev-up0\ntc up0 ingress tcx cil_to_containe\ntc up0 ingress tcx other_tcx\ntc up1 ingress cil_from_netdev-up1\ntc up1 ingress other\nxdp up0 cil_xdp_entry"
		if strings.Join(got, "\n") != want {
			t.Errorf("found %q", got)
		}
		left, err := link.QueryPrograms(link.QueryOptions{Target: up0.Attrs().Index, Attach: ebpf.AttachTCXIngress})
		ok(t, err)
		if len(left.Programs) != 1 {
			t.Errorf("left by TCX: %+v", left.Programs)
		}
	})
	if got := ns.Run("tc", "qdisc", "show", "dev", "up0") + ns.Run("ip", "link", "show", "up0"); strings.Contains(got, "clsact") || strings.Contains(got, "xdp") {
		t.Errorf("left: %s", got)
	}
	if got := ns.Run("tc", "filter", "show", "dev", "up1", "ingress"); !strings.Contains(got, "other") || strings.Contains(got, "cil_") {
		t.Errorf("left: %s", got)
	}
	if got := ns.Run("tc", "filter", "show", "dev", "up1", "egress"); !strings.Contains(got, "u32") {
		t.Errorf("left: %s", got)
	}
}

// The programs are in a cgroup of their own, which has no process.
func TestProgramsOfCgroups(t *testing.T) {
	needs.Root(t)
	roots, err := cgroupRoots()
	ok(t, err)
	if len(roots) == 0 {
		needs.Missing(t, "needs a mounted cgroup2")
	}
	dir, err := os.MkdirTemp(roots[0], "netwright-test-")
	ok(t, err)
	defer os.Remove(dir)
	f, err := os.Open(dir)
	ok(t, err)
	defer f.Close()
	for _, name := range []string{"cil_sock4_connect", "other"} {
		p := program(t, ebpf.CGroupSockAddr, ebpf.AttachCGroupInet4Connect, name, 1)
		ok(t, link.RawAttachProgram(link.RawAttachProgramOptions{Target: int(f.Fd()), Program: p, Attach: ebpf.AttachCGroupInet4Connect, Flags: 1 << 1})) // BPF_F_ALLOW_MULTI
	}
	held, err := link.AttachCgroup(link.CgroupOptions{Path: dir, Attach: ebpf.AttachCGroupInet6Connect, Program: program(t, ebpf.CGroupSockAddr, ebpf.AttachCGroupInet6Connect, "cil_held", 1)})
	ok(t, err)
	defer held.Close()
	programs, err := attachedTo(f)
	ok(t, err)
	if len(programs) != 3 || programs[0].Name != "cil_sock4_conne" || programs[2].Name != "cil_held" {
		t.Fatalf("attached: %v", programs)
	}
	h := Writer{Reader: Reader{Live: true}}
	for range 2 {
		ok(t, h.DetachProgram(context.Background(), programs[0]))
		ok(t, h.DetachProgram(context.Background(), programs[2]))
	}
	if left, err := attachedTo(f); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	left, err := link.QueryPrograms(link.QueryOptions{Target: int(f.Fd()), Attach: ebpf.AttachCGroupInet4Connect})
	ok(t, err)
	if len(left.Programs) != 1 || uint32(left.Programs[0].ID) != programs[1].id {
		t.Errorf("left: %+v", left.Programs)
	}
}
