package firewall

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// legacyFamily is one of the two families of ip_tables, with the layout of its entries
// (linux/netfilter_ipv4/ip_tables.h, …_ipv6/ip6_tables.h, x_tables.h).
type legacyFamily struct {
	name   string // ip, ip6
	names  string // file with the tables of this network namespace
	domain int
	level  int
	size   int // of struct ipt_entry without its matches
	in     int // offset of iniface; outiface and the two masks follow
	zero   int // bytes before in (addresses, masks): zero when all match
	proto  int // offset of proto; up to nfcache all is zero when all match
	invert int // offset of invflags
	next   int // offset of target_offset; next_offset follows
}

var legacyFamilies = []legacyFamily{
	{name: "ip", names: "ip_tables_names", domain: unix.AF_INET, level: unix.SOL_IP, size: 112, in: 16, zero: 16,
		proto: 80, invert: 83, next: 88},
	{name: "ip6", names: "ip6_tables_names", domain: unix.AF_INET6, level: unix.SOL_IPV6, size: 168, in: 64, zero: 64,
		proto: 128, invert: 132, next: 140},
}

// Socket options of ip_tables, the same for both families.
const (
	legacyGetInfo    = 64 // IPT_SO_GET_INFO
	legacyGetEntries = 65 // IPT_SO_GET_ENTRIES
	legacyAccept     = -2 // -NF_ACCEPT - 1
	legacyDrop       = -1 // -NF_DROP - 1
)

// legacyInfo is struct ipt_getinfo.
type legacyInfo struct {
	Name       [32]byte
	ValidHooks uint32
	HookEntry  [5]uint32
	Underflow  [5]uint32
	NumEntries uint32
	Size       uint32
}

// hookForward is NF_INET_FORWARD.
const hookForward = 2

// legacyForward reads the FORWARD chains of ip_tables. It does not read a table that this namespace
// does not have: the request would create the table and load its module.
func legacyForward() ([]ForwardChain, error) {
	var out []ForwardChain
	for _, f := range legacyFamilies {
		if !f.hasForward() {
			continue
		}
		info, entries, err := f.read("filter")
		if err != nil {
			return nil, fmt.Errorf("read table filter of ip_tables (%s): %w", f.name, err)
		}
		c, err := f.parse(info, entries)
		if err != nil {
			return nil, fmt.Errorf("read table filter of ip_tables (%s): %w", f.name, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// LegacyForward reports whether ip_tables has a chain at the forward hook of this network
// namespace.
func LegacyForward() bool { return slices.ContainsFunc(legacyFamilies, legacyFamily.hasForward) }

// hasForward reports whether this network namespace has the table with the chain FORWARD.
func (f legacyFamily) hasForward() bool { return slices.Contains(f.tables(), "filter") }

// tables returns the iptables tables that this network namespace has. It returns none if the kernel
// has no ip_tables.
func (f legacyFamily) tables() []string {
	names, err := sys.ReadKernelFile("/proc/thread-self/net/" + f.names)
	if err != nil {
		return nil
	}
	have := strings.Fields(string(names))
	return slices.DeleteFunc(slices.Clone(iptTables), func(table string) bool { return !slices.Contains(have, table) })
}

// read reads a table from the kernel. It requests the size first; if the table grows meanwhile, the
// kernel returns EAGAIN, and read tries again. It needs any socket of the family: a raw one, as
// iptables uses, would need CAP_NET_RAW.
func (f legacyFamily) read(table string) (legacyInfo, []byte, error) {
	for range sys.DumpTries {
		var info legacyInfo
		head := make([]byte, binary.Size(info))
		copy(head, table)
		err := socketOption(f.domain, f.level, legacyGetInfo, head)
		if err == nil {
			_, err = binary.Decode(head, binary.NativeEndian, &info)
		}
		if err != nil {
			return info, nil, err
		}
		// struct ipt_get_entries: name, size, padding to 8 bytes, entries.
		body := make([]byte, 40+info.Size)
		copy(body, table)
		binary.NativeEndian.PutUint32(body[32:], info.Size)
		if err = socketOption(f.domain, f.level, legacyGetEntries, body); !errors.Is(err, unix.EAGAIN) {
			return info, body[40:], err
		}
	}
	return legacyInfo{}, nil, unix.EAGAIN
}

// socketOption reads an option of a new socket into buf. buf also contains the request.
func socketOption(domain, level, option int, buf []byte) error {
	fd, err := unix.Socket(domain, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	size := uint32(len(buf))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), uintptr(level), uintptr(option),
		uintptr(unsafe.Pointer(&buf[0])), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

var errLegacyLayout = errors.New("the kernel's answer is not laid out as expected")

// parse reads the chain FORWARD, up to the entry of its policy.
func (f legacyFamily) parse(info legacyInfo, entries []byte) (ForwardChain, error) {
	c := ForwardChain{Backend: BackendLegacy, Family: f.name, Table: "filter", Name: "FORWARD", Policy: "accept"}
	for at := int(info.HookEntry[hookForward]); ; {
		e, err := f.entry(entries, at)
		if err != nil {
			return c, err
		}
		if at == int(info.Underflow[hookForward]) {
			if e.target == "" && e.verdict == legacyDrop {
				c.Policy = "drop"
			}
			return c, nil
		}
		if r, is := f.ours(e); is {
			c.ours = append(c.ours, r)
		}
		at += e.size
	}
}

// ours recognises a rule of the agent: one whole link name, the agent's comment, accept, and
// nothing else.
func (f legacyFamily) ours(e legacyEntry) (forwardRule, bool) {
	others := slices.Concat(e.head[:f.zero], e.head[f.proto:f.next-4])
	in, out := f.links(e)
	r := forwardRule{link: in.whole(), way: inward}
	if in.none() {
		r = forwardRule{link: out.whole(), way: outward}
	}
	return r, r.link != "" && (in.none() || out.none()) && e.target == "" && e.verdict == legacyAccept &&
		legacyComment(e.matches) && !slices.ContainsFunc(others, func(b byte) bool { return b != 0 })
}

// linkMatch is the name of a link, and a mask of the bytes to be compared.
type linkMatch struct{ name, mask []byte }

// links returns the matches of an entry for the incoming and the outgoing link.
func (f legacyFamily) links(e legacyEntry) (in, out linkMatch) {
	at := func(n int) []byte { return e.head[f.in+n*unix.IFNAMSIZ : f.in+(n+1)*unix.IFNAMSIZ] }
	return linkMatch{at(0), at(2)}, linkMatch{at(1), at(3)}
}

// none reports whether any link matches.
func (l linkMatch) none() bool { return l.mask[0] == 0 }

// whole returns the link's name if the mask covers it and the NUL after it.
func (l linkMatch) whole() string {
	n := bytes.IndexByte(l.name, 0)
	if n < 1 || l.mask[n] != 0xff {
		return ""
	}
	return string(l.name[:n])
}

// legacyComment reports whether the only match of an entry is the agent's comment. A match is a
// struct xt_entry_match (size, name of 29 bytes, revision); then comes the text.
func legacyComment(m []byte) bool {
	if len(m) < 32 || int(binary.NativeEndian.Uint16(m)) != len(m) {
		return false
	}
	return unix.ByteSliceToString(m[2:31]) == "comment" && unix.ByteSliceToString(m[32:]) == forwardMark
}

// legacyRules adds (-A) or deletes (-D) the agent's rules by the program of ip_tables, because only
// that program writes a table under the lock that all writers share.
func (w *Writer) legacyRules(ctx context.Context, op, family, link string, ways []direction) error {
	program, err := w.legacyFind(ctx, family)
	if err != nil {
		return err
	}
	for _, way := range ways {
		flag := map[direction]string{inward: "-i", outward: "-o"}[way]
		args := []string{"-w", "10", "-t", "filter", op, "FORWARD", flag, link, "-m", "comment", "--comment",
			forwardMark, "-j", "ACCEPT"}
		if _, err := sys.RunLive(ctx, w.fw.live, sys.Command{Path: program, Args: args}); err != nil {
			return err
		}
	}
	return nil
}

func legacyProgram(family string) string {
	if family == "ip6" {
		return "ip6tables"
	}
	return "iptables"
}

// legacyFind finds the program that writes ip_tables. A program named iptables may be iptables-nft.
func (w *Writer) legacyFind(ctx context.Context, family string) (string, error) {
	name := legacyProgram(family)
	if path, err := sys.FindProgram(name + "-legacy"); err == nil {
		return path, nil
	}
	version, err := sys.RunLive(ctx, w.fw.live, sys.Command{Path: name, Args: []string{"--version"}})
	if err == nil && !bytes.Contains(version, []byte("nf_tables")) {
		return name, nil
	}
	return "", fmt.Errorf("the chain is one of ip_tables, which only %s-legacy can write, and it is not installed: "+
		"install it (package iptables), or set the policy of FORWARD to ACCEPT with the program that set it to DROP",
		name)
}
