package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Snapshot is the state of a node, read without code of the agent: files by stat and sha256, links,
// addresses, routes and rules by ip, the ruleset by nft, and all of /proc/sys/net. Two snapshots
// are equal only if nothing was written between them, not even the same content again.
type Snapshot map[string]string // "file /etc/hosts" → "0644 …", "sysctl net.ipv4.ip_forward" → "1"

// Diff lists the differences, sorted, one in a line: "+ thing", "- thing", "~ thing: before →
// after".
func Diff(before, after Snapshot) []string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(before)) {
		value, ok := after[key]
		switch {
		case !ok:
			lines = append(lines, fmt.Sprintf("- %s: %s", key, before[key]))
		case value != before[key]:
			lines = append(lines, fmt.Sprintf("~ %s: %s → %s", key, before[key], value))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[key]; !ok {
			lines = append(lines, fmt.Sprintf("+ %s: %s", key, after[key]))
		}
	}
	return lines
}

// Volatile files change in a node that nobody touches, or are not the host's state.
var volatileFiles = []struct{ path, reason string }{
	{"/var/log/journal", "journald writes at any time"},
	{"/var/lib/systemd/timers", "stamps of timers that elapsed"},
	{"/run/systemd/journal", "journald's streams and sockets"},
	{"/run/systemd/units", "log levels and invocations of units that run"},
	{"/run/systemd/transient", "units of commands that tests run"},
	{"/run/systemd/propagate", "mount directories of units that run"},
	{"/run/systemd/netif", "networkd's leases and link states"},
	{"/run/log/journal", "journald before /var is there"},
	{"/run/containerd", "containers that run"},
	{"/run/netns", "namespaces of pods: their links are compared"},
	{"/run/host", "nspawn's"},
	{"/run/lab", "tools that tests put there"},
}

// Volatile fields of what ip and nft print.
var volatileFields = map[string]string{
	"hello_timer": "bridges count", "tcn_timer": "bridges count", "topology_change_timer": "bridges count", "gc_timer": "bridges count",
	"message_age_timer": "bridge ports count", "forward_delay_timer": "bridge ports count", "hold_timer": "bridge ports count",
	"tentative": "duplicate address detection ends by itself",
	"expires":   "routes and set elements that age", "age": "cached routes age", "used": "cached routes are counted",
	"packets": "nft counters count", "bytes": "nft counters count",
	"valid_life_time": "leases age, unless for ever", "preferred_life_time": "leases age, unless for ever",
}

const forever = json.Number("4294967295") // of an address's lifetimes

var volatileSysctls = map[string]string{
	"net.netfilter.nf_conntrack_count": "connections come and go",
}

// Snapshot reads the state of the running node. It runs no program in the node, so the look does
// not change the node.
func (n *Node) Snapshot() Snapshot {
	n.t.Helper()
	if err := retry(n.settled); err != nil {
		n.t.Fatalf("waiting for node %s to settle: %v", n.name, err)
	}
	s := Snapshot{}
	err := errors.Join(
		s.files(n.Upper(), "/"), // whatever was changed of the base was copied up
		s.files(n.Path("/run"), "/run"),
		s.objects(n, "link", "ip", "-json", "-details", "link", "show"),
		s.objects(n, "address", "ip", "-json", "-details", "address", "show"),
		s.objects(n, "route", "ip", "-json", "-details", "-4", "route", "show", "table", "all"),
		s.objects(n, "route6", "ip", "-json", "-details", "-6", "route", "show", "table", "all"),
		s.objects(n, "rule", "ip", "-json", "-details", "-4", "rule", "show"),
		s.objects(n, "rule6", "ip", "-json", "-details", "-6", "rule", "show"),
		s.objects(n, "nft", "nft", "--json", "--handle", "list", "ruleset"),
		n.Do(s.sysctls),
	)
	if err != nil {
		n.t.Fatalf("taking a snapshot of node %s: %v", n.name, err)
	}
	return s
}

// settled is an error while duplicate address detection runs on a link that is up: a second or two
// after each address, addresses and routes are still to come. Without carrier it never ends, and is
// not waited for.
func (n *Node) settled() error {
	out, err := exec.Command("nsenter", "--net="+n.Netns(), "--", "ip", "-json", "-6", "address", "show", "tentative").Output()
	if err != nil {
		return fmt.Errorf("listing tentative addresses: %w", err)
	}
	var links []struct {
		Name  string `json:"ifname"`
		Flags []string
		Info  []any `json:"addr_info"`
	}
	if err := json.Unmarshal(out, &links); err != nil {
		return fmt.Errorf("reading tentative addresses: %w", err)
	}
	for _, link := range links {
		if len(link.Info) > 0 && slices.Contains(link.Flags, "LOWER_UP") {
			return fmt.Errorf("%s is still looking for duplicates of its address", link.Name)
		}
	}
	return nil
}

// files adds everything below dir, named as below name.
func (s Snapshot) files(dir, name string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone since it was listed: the other snapshot tells
		}
		if err != nil {
			return fmt.Errorf("walking the node's files: %w", err)
		}
		shown := filepath.Join(name, strings.TrimPrefix(path, dir))
		if slices.ContainsFunc(volatileFiles, func(v struct{ path, reason string }) bool { return v.path == shown }) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		description, err := describe(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // likewise, since it was met
		}
		if err == nil {
			s["file "+shown] = description
		}
		return err
	})
}

func describe(path string) (string, error) {
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return "", fmt.Errorf("reading the state of %s: %w", path, err)
	}
	out := fmt.Sprintf("mode=%o owner=%d:%d inode=%d ctime=%d.%09d mtime=%d.%09d", stat.Mode, stat.Uid, stat.Gid, stat.Ino,
		stat.Ctim.Sec, stat.Ctim.Nsec, stat.Mtim.Sec, stat.Mtim.Nsec)
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		target, err := os.Readlink(path)
		if err != nil {
			return "", fmt.Errorf("reading a symlink: %w", err)
		}
		out += " → " + target
	case unix.S_IFREG:
		sum, err := Sum(path)
		if err != nil {
			return "", err
		}
		out += fmt.Sprintf(" size=%d sha256=%x", stat.Size, sum)
	case unix.S_IFCHR:
		out += fmt.Sprintf(" device=%d", stat.Rdev) // 0: the overlay's mark for what was removed
	}
	attrs, err := attributes(path)
	return out + attrs, err
}

// attributes are all extended attributes of a path itself, but for the overlay's own marks.
func attributes(path string) (string, error) {
	buf := make([]byte, 64<<10)
	n, err := unix.Llistxattr(path, buf)
	if errors.Is(err, unix.ENOTSUP) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("listing the attributes of %s: %w", path, err)
	}
	names := strings.FieldsFunc(string(buf[:n]), func(r rune) bool { return r == 0 })
	slices.Sort(names)
	out := ""
	for _, name := range names {
		if strings.HasPrefix(name, "trusted.overlay.") {
			continue
		}
		n, err := unix.Lgetxattr(path, name, buf)
		if err != nil {
			return "", fmt.Errorf("reading attribute %s of %s: %w", name, path, err)
		}
		out += fmt.Sprintf(" %s=%x", name, buf[:n])
	}
	return out, nil
}

// objects adds each object that this machine's ip or nft prints of the node's network namespace.
// Objects have no names that all kinds share: the whole object is the key, its number of
// occurrences the value.
func (s Snapshot) objects(n *Node, kind, command string, args ...string) error {
	cmd := exec.Command("nsenter", append([]string{"--net=" + n.Netns(), "--", command}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", command, strings.Join(args, " "), err, errs.Bytes())
	}
	var objects []any
	if command == "nft" {
		var ruleset struct{ Nftables []any }
		err = decode(out, &ruleset)
		objects = ruleset.Nftables
	} else {
		err = decode(out, &objects)
	}
	if err != nil {
		return fmt.Errorf("reading what %s prints: %w", command, err)
	}
	for _, object := range objects {
		line, err := json.Marshal(steady(object))
		if err != nil {
			return fmt.Errorf("writing an object of %s: %w", command, err)
		}
		s[kind+" "+string(line)] += "·"
	}
	return nil
}

func decode(out []byte, into any) error {
	if len(bytes.TrimSpace(out)) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// steady takes the volatile fields out.
func steady(value any) any {
	switch value := value.(type) {
	case map[string]any:
		maps.DeleteFunc(value, func(key string, field any) bool {
			_, volatile := volatileFields[key]
			return volatile && field != forever
		})
		for key := range value {
			value[key] = steady(value[key])
		}
	case []any:
		for i := range value {
			value[i] = steady(value[i])
		}
	}
	return value
}

// shownByIP are keys of each link that `ip -details link` shows too: a secret that is set changes
// the mode. A reader of one takes all its processor until nobody holds the kernel's lock of links,
// so that readers of many links stop a machine on which links come and go.
var shownByIP = map[string]bool{"addr_gen_mode": true, "stable_secret": true}

// sysctls adds all of /proc/sys/net of the calling thread's network namespace.
func (s Snapshot) sysctls() error {
	return filepath.WalkDir("/proc/sys/net", func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && entry.IsDir() {
			return nil // a link that went took its directory along
		}
		if err != nil {
			return fmt.Errorf("walking /proc/sys/net: %w", err)
		}
		key := strings.ReplaceAll(strings.TrimPrefix(path, "/proc/sys/"), "/", ".")
		if _, volatile := volatileSysctls[key]; volatile || shownByIP[entry.Name()] {
			return nil
		}
		value, err := os.ReadFile(path)
		if err != nil {
			value = []byte("cannot be read") // write-only (route.flush)
		}
		s["sysctl "+key] = strings.TrimSpace(string(value))
		return nil
	})
}
