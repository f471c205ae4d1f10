package torture

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// tree is path → type, mode, owner and content of everything below a directory; times do not count.
type tree map[string]string

// staged is what a run that was killed may leave, until the next one: the only name that no reader
// of these directories picks up.
var staged = regexp.MustCompile(`/\.netwright-[A-Z2-7]{10}-[0-9a-f]{8}$`)

// intent is what a batch of files that belong together begins with: one that a power cut tore, or
// emptied, says nothing (pkg/host/hostfs/batch_intents.go).
var intent = regexp.MustCompile(`/batch-[A-Z2-7]{10}-[0-9a-f]{8}\.json$`)

// readTree reads a directory. What skip names, by whole path, is left out with all below it.
func readTree(t testing.TB, root string, skip ...string) tree {
	t.Helper()
	out := tree{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, root)
		if slices.Contains(skip, name) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if name == "" {
			return nil
		}
		out[name], err = describe(path)
		if out[name] == "" {
			delete(out, name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatalf("read %s: %v", root, err)
	}
	return out
}

func describe(path string) (string, error) {
	head, st, err := owner(path)
	if err != nil {
		return "", err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		content, err := os.ReadFile(path)
		return fmt.Sprintf("%s %d %x", head, len(content), sha256.Sum256(content)), err
	case unix.S_IFLNK:
		target, err := os.Readlink(path)
		return head + " → " + target, err
	case unix.S_IFCHR:
		if st.Rdev == 0 {
			return "", nil // an overlay's mark for what was removed
		}
	}
	return head, nil
}

// owner is type, mode and owner.
func owner(path string) (string, unix.Stat_t, error) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	return fmt.Sprintf("%06o %d:%d", st.Mode, st.Uid, st.Gid), st, err
}

func isDir(description string) bool { return strings.HasPrefix(description, "04") }

// memory is the agent's own: what it holds differs from run to run.
func memory(path string) bool { return strings.HasPrefix(path, "/var/lib/netwright/") }

// torn lists what is neither as it was nor as it shall be.
func torn(before, now, after tree) []string {
	var out []string
	seen := map[string]bool{}
	for _, all := range []tree{before, now, after} {
		for path := range all {
			if seen[path] || memory(path) || staged.MatchString(path) {
				continue
			}
			seen[path] = true
			is := now[path]
			if is == before[path] || is == after[path] || isDir(is) && (isDir(before[path]) || isDir(after[path])) {
				continue
			}
			out = append(out, fmt.Sprintf("%s is %q, was %q, shall be %q", path, is, before[path], after[path]))
		}
	}
	slices.Sort(out)
	return out
}

// differs lists what is not as it shall be in the end, staged files too.
func differs(now, want tree) []string {
	var out []string
	for _, path := range sortedKeys(now) {
		if _, ok := want[path]; !ok && !memory(path) || staged.MatchString(path) {
			out = append(out, "left: "+path)
		}
	}
	for _, path := range sortedKeys(want) {
		if now[path] != want[path] && !memory(path) {
			out = append(out, fmt.Sprintf("%s is %q, not %q", path, now[path], want[path]))
		}
	}
	return out
}

// mixed lists sets of files that belong together and are partly old and partly new.
func mixed(before, now, after tree, sets [][]string) []string {
	var out []string
	for _, set := range sets {
		old, fresh := []string{}, []string{}
		for _, path := range set {
			switch {
			case before[path] == after[path]:
			case now[path] == after[path]:
				fresh = append(fresh, path)
			default:
				old = append(old, path)
			}
		}
		if len(old) > 0 && len(fresh) > 0 {
			out = append(out, fmt.Sprintf("%v are new, %v are old", fresh, old))
		}
	}
	return out
}

// early lists what is in place before what it needs.
func early(before, now, after tree, needs map[string][]string) []string {
	var out []string
	for path, wants := range needs {
		if now[path] != after[path] || before[path] == after[path] || after[path] == "" {
			continue
		}
		for _, want := range wants {
			if now[want] != after[want] {
				out = append(out, fmt.Sprintf("%s is in place before %s", path, want))
			}
		}
	}
	return out
}
