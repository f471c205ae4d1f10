package dryrun

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
)

// thing is the state of one key of the host, as the system's own tools print it. A name that starts
// with "." only shows that somebody touched the thing.
type thing map[string]string

// snapshot is the state of a host, by the agent's names for its things. lstat, sha256, ip, nft and
// /proc read it, and no code of ours.
type snapshot map[string]thing

// trees has the directories that the states and the agent write to. /var/lib/netwright belongs to
// the agent, and does not count.
var trees = []string{"/srv", "/etc"}

func take(t *testing.T) snapshot {
	t.Helper()
	s := snapshot{}
	for _, tree := range trees {
		if err := filepath.WalkDir(tree, s.file); err != nil {
			t.Fatalf("walk %s: %v", tree, err)
		}
	}
	if err := filepath.WalkDir("/proc/sys/net", s.sysctl); err != nil {
		t.Fatalf("walk /proc/sys/net: %v", err)
	}
	for _, l := range list(t, "ip", "-json", "-details", "link", "show") {
		name := text(l["ifname"])
		kind := ""
		if info, ok := l["linkinfo"].(map[string]any); ok {
			kind = text(info["info_kind"])
		}
		up := "down"
		if flags, ok := l["flags"].([]any); ok {
			for _, f := range flags {
				if f == "UP" {
					up = "up"
				}
			}
		}
		s["link:"+name] = thing{"kind": kind, "mtu": text(l["mtu"]), "mac": text(l["address"]), "state": up, ".index": text(l["ifindex"])}
	}
	s.addresses(t)
	for _, family := range []string{"-4", "-6"} {
		for _, r := range list(t, "ip", "-json", "-details", family, "route", "show", "table", "all") {
			s.route(family, r)
		}
		for _, r := range list(t, "ip", "-json", "-details", family, "rule", "show") {
			s[rule(family, r)] = thing{".": whole(r)}
		}
	}
	s.nft(t)
	return s
}

func (s snapshot) file(path string, entry fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return err
	}
	f := thing{
		"mode": fmt.Sprintf("%04o", stat.Mode&0o7777), "owner": fmt.Sprintf("%d:%d", stat.Uid, stat.Gid), "type": "other",
		".inode": strconv.FormatUint(stat.Ino, 10), ".mtime": fmt.Sprint(stat.Mtim), ".ctime": fmt.Sprint(stat.Ctim),
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		f["type"] = "directory"
	case unix.S_IFLNK:
		f["type"] = "symlink"
		f["target"], err = os.Readlink(path)
	case unix.S_IFREG:
		var data []byte
		if data, err = os.ReadFile(path); err == nil {
			f["type"], f["content"] = "file", fmt.Sprintf("sha256 %.6x, %d bytes", sha256.Sum256(data), len(data))
		}
		if strings.Contains(path, ".toml") {
			f[".toml"] = string(data)
		}
	}
	s["file:"+path] = f
	return err
}

func (s snapshot) sysctl(path string, entry fs.DirEntry, err error) error {
	if errors.Is(err, fs.ErrNotExist) || err == nil && entry.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	value, err := os.ReadFile(path)
	if err != nil {
		value = []byte("cannot be read") // write-only, or not yet set (stable_secret)
	}
	name := strings.NewReplacer("/", ".", ".", "/").Replace(strings.TrimPrefix(path, "/proc/sys/"))
	if name != "net.netfilter.nf_conntrack_count" {
		s["sysctl:"+name] = thing{"value": strings.Join(strings.Fields(string(value)), " ")}
	}
	return nil
}

func (s snapshot) addresses(t *testing.T) {
	for _, l := range list(t, "ip", "-json", "address", "show") {
		infos, _ := l["addr_info"].([]any)
		for _, info := range infos {
			a, _ := info.(map[string]any)
			if text(a["scope"]) == "link" {
				continue // the kernel's own route
			}
			s[fmt.Sprintf("address:%s/%s/%s", text(l["ifname"]), text(a["local"]), text(a["prefixlen"]))] = thing{}
		}
	}
}

func (s snapshot) route(family string, r map[string]any) {
	if text(r["protocol"]) == "kernel" || text(r["type"]) == "multicast" {
		return // it comes and goes with addresses and links
	}
	table, dst := text(r["table"]), text(r["dst"])
	if table == "" || table == "main" {
		table = "254"
	}
	switch {
	case dst == "default" && family == "-4":
		dst = "0.0.0.0/0"
	case dst == "default":
		dst = "::/0"
	case !strings.Contains(dst, "/") && family == "-4":
		dst += "/32"
	case !strings.Contains(dst, "/"):
		dst += "/128"
	}
	key := "route:" + table + "/" + dst
	if metric := text(r["metric"]); metric != "" && metric != "1024" {
		key += " metric " + metric
	}
	s[key] = thing{"via": text(r["gateway"]), "dev": text(r["dev"]), "src": text(r["prefsrc"]), "type": text(r["type"])}
}

// rule returns a policy rule in ip's own words.
func rule(family string, r map[string]any) string {
	words := []string{"rule:ipv" + family[1:], text(r["priority"])}
	for _, w := range [][2]string{{"src", "from"}, {"dst", "to"}} {
		at := text(r[w[0]])
		if at == "" || at == "all" {
			continue
		}
		if n := text(r[w[0]+"len"]); n != "" {
			at += "/" + n
		} else if family == "-4" {
			at += "/32"
		} else {
			at += "/128"
		}
		words = append(words, w[1], at)
	}
	if mark := text(r["fwmark"]); mark != "" {
		mask := text(r["fwmask"])
		if mask == "" {
			mask = "0xffffffff"
		}
		words = append(words, "fwmark", mark+"/"+mask)
	}
	if at := text(r["iif"]); at != "" {
		words = append(words, "iif", at)
	}
	if at := text(r["oif"]); at != "" {
		words = append(words, "oif", at)
	}
	table := text(r["table"])
	if id, ok := map[string]string{"main": "254", "local": "255", "default": "253"}[table]; ok {
		table = id
	}
	return strings.Join(append(words, "lookup", table), " ")
}

// nft adds tables by the agent's key, and chains with their rules below "chain:".
func (s snapshot) nft(t *testing.T) {
	out := run(t, "nft", "--json", "--handle", "list", "ruleset")
	var ruleset struct{ Nftables []map[string]map[string]any }
	if err := json.Unmarshal(out, &ruleset); err != nil {
		t.Fatalf("what nft printed: %v\n%s", err, out)
	}
	for _, object := range ruleset.Nftables {
		for kind, o := range object {
			in := text(o["family"]) + "/" + text(o["table"])
			switch kind {
			case "table":
				s["nft:"+text(o["family"])+"/"+text(o["name"])] = thing{".handle": text(o["handle"])}
			case "chain":
				s["chain:"+in+"/"+text(o["name"])] = thing{".": whole(o), "policy": text(o["policy"])}
			case "rule":
				at := s["chain:"+in+"/"+text(o["chain"])]
				at["rules"] += whole(o) + "\n"
			}
		}
	}
}

func whole(o map[string]any) string {
	data, err := json.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func text(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// run runs a tool of the system.
func run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(needs.Path(name), args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, &errs)
	}
	return out
}

func list(t *testing.T, name string, args ...string) []map[string]any {
	t.Helper()
	var objects []map[string]any
	out := run(t, name, args...)
	if len(strings.TrimSpace(string(out))) == 0 {
		return nil
	}
	if err := json.Unmarshal(out, &objects); err != nil {
		t.Fatalf("what %s printed: %v\n%s", name, err, out)
	}
	return objects
}
