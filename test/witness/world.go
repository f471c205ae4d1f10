package witness

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/netwright/netwright/test/netns"
)

// World is what documents may speak of beside addresses: the network's sysctls of the kernel that
// runs, with the values of a fresh network namespace.
type World struct {
	Sysctls []Sysctl // by key; those that have been a whole number or several
	Own     []Sysctl // those of them that are of all links, of the node's own, or of none; but pods'
	// Takes says that the kernel takes a value of a key, and gives it back as it was written.
	Takes func(key, value string) bool
}

// Sysctl is a key with its value.
type Sysctl struct{ Key, Value string }

// links of a node that documents speak of. That of its pods is not among them, see doc.go.
var links = []string{"host0", "lo"}

// ofTheMachine is a switch of the whole machine that each namespace may turn on, and none off
// again.
const ofTheMachine = "net.netfilter.nf_hooks_lwtunnel"

// NewWorld reads the keys in a network namespace that lives as long as the test. Nothing of this
// machine is written: a key that is not the namespace's own is read-only there, but [ofTheMachine].
func NewWorld(t testing.TB) World {
	t.Helper()
	ns := netns.New(t)
	ns.Run("ip", "link", "add", "host0", "up", "type", "bridge")
	var w World
	ns.Do(func() {
		err := filepath.WalkDir("/proc/sys/net", func(path string, entry fs.DirEntry,
			err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			key, value, ok := numeric(path, entry)
			if ok && key != ofTheMachine && !strings.HasSuffix(key, ".forwarding") { // pods', as their link is
				w.Sysctls = append(w.Sysctls, Sysctl{key, value})
			}
			return nil
		})
		if err != nil {
			t.Fatalf("reading the kernel's keys: %v", err)
		}
	})
	slices.SortFunc(w.Sysctls, func(a, b Sysctl) int { return strings.Compare(a.Key, b.Key) })
	for _, s := range w.Sysctls {
		f := strings.Split(s.Key, ".")
		pods := f[1] == "bridge" || f[2] == "ip_forward" // the network needs these, and refuses others
		if !pods && (len(f) <= 3 || f[3] == "all" || f[3] == links[0]) {
			w.Own = append(w.Own, s)
		}
	}
	var mu sync.Mutex // else one attempt would read what another has written
	w.Takes = func(key, value string) (takes bool) {
		mu.Lock()
		defer mu.Unlock()
		ns.Do(func() { takes = tried(sysctlPath(key), value) })
		return takes
	}
	return w
}

// numeric reads a key that the namespace may write and that holds whole numbers.
func numeric(path string, entry fs.DirEntry) (key, value string, ok bool) {
	info, err := entry.Info()
	if err != nil || info.Mode().Perm()&0o200 == 0 {
		return "", "", false
	}
	data, err := os.ReadFile(path)
	fields := strings.Fields(string(data))
	if err != nil || len(fields) == 0 || slices.ContainsFunc(fields,
		func(f string) bool { return !isNumber(f) }) {
		return "", "", false
	}
	key = strings.ReplaceAll(strings.TrimPrefix(path, "/proc/sys/"), "/", ".")
	return key, strings.Join(fields, " "), true
}

func sysctlPath(key string) string { return "/proc/sys/" + strings.ReplaceAll(key, ".", "/") }

// tried writes a value, reads it back, and puts back what was there.
func tried(path, value string) bool {
	before, err := os.ReadFile(path)
	if err != nil || os.WriteFile(path, []byte(value), 0) != nil {
		return false
	}
	after, err := os.ReadFile(path)
	if os.WriteFile(path, before, 0) != nil {
		return false
	}
	return err == nil && slices.Equal(strings.Fields(string(after)), strings.Fields(value))
}
