package firewall

import (
	"bytes"
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
	// in is the offset of iniface; outiface and the two masks follow. The bytes before it
	// (addresses, masks) are zero when all match.
	in     int
	proto  int // offset of proto; up to nfcache all is zero when all match
	invert int // offset of invflags
	next   int // offset of target_offset; next_offset follows
}

var legacyFamilies = []legacyFamily{
	{name: "ip", names: "ip_tables_names", domain: unix.AF_INET, level: unix.SOL_IP, size: 112, in: 16,
		proto: 80, invert: 83, next: 88},
	{name: "ip6", names: "ip6_tables_names", domain: unix.AF_INET6, level: unix.SOL_IPV6, size: 168, in: 64,
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

// legacyEntry is an entry of a table: a rule, or an entry between chains.
type legacyEntry struct {
	at      int
	size    int
	head    []byte // struct ipt_entry
	matches []byte
	target  string // "": a verdict
	verdict int32
	chain   string // the name, if it begins a user-defined chain
}

// legacyTarget returns a standard target in the syntax of iptables. A rule without a target
// continues at the next entry, which begins no chain, so the result is "".
func legacyTarget(e legacyEntry, starts map[int]string) string {
	switch e.verdict {
	case legacyDrop:
		return "DROP"
	case legacyAccept:
		return "ACCEPT"
	case legacyReturn:
		return "RETURN"
	}
	return starts[int(e.verdict)]
}

func (f legacyFamily) entries(blob []byte) (out []legacyEntry, err error) {
	for at := 0; at < len(blob); {
		e, err := f.entry(blob, at)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
		at += e.size
	}
	return out, nil
}

// entry decodes the entry at an offset of a table.
func (f legacyFamily) entry(blob []byte, at int) (e legacyEntry, err error) {
	if at < 0 || at+f.size > len(blob) {
		return e, errLegacyLayout
	}
	b := blob[at:]
	target, next := int(binary.NativeEndian.Uint16(b[f.next:])), int(binary.NativeEndian.Uint16(b[f.next+2:]))
	if target < f.size || next < target+legacyTargetHead || next > len(b) {
		return e, errLegacyLayout
	}
	data := b[target+legacyTargetHead : next]
	e = legacyEntry{at: at, size: next, head: b[:f.size], matches: b[f.size:target],
		target: unix.ByteSliceToString(b[target+2 : target+31])}
	switch {
	case e.target == legacyErrorTarget && len(data) > 0:
		e.chain = unix.ByteSliceToString(data)
	case e.target == "" && len(data) >= 4:
		e.verdict = int32(binary.NativeEndian.Uint32(data))
	}
	return e, nil
}
