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

// tree has type, mode, owner and content of everything below a directory, by path. Times do not
// count.
type tree map[string]string

// staged matches what a killed run may leave until the next one. No reader of these directories
// accepts this name.
var staged = regexp.MustCompile(`/\.netwright-[A-Z2-7]{10}-[0-9a-f]{8}$`)

// intent matches the record with which a set of files begins. A record that a power cut damaged or
// emptied is ignored (pkg/host/hostfs/batch_intents.go).
var intent = regexp.MustCompile(`/batch-[A-Z2-7]{10}-[0-9a-f]{8}\.json$`)

// readTree reads a directory. It leaves out the paths in skip with all below them.
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
			return "", nil // an overlay's mark for a removed file
		}
	}
	return head, nil
}

// owner returns type, mode and owner.
func owner(path string) (string, unix.Stat_t, error) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	return fmt.Sprintf("%06o %d:%d", st.Mode, st.Uid, st.Gid), st, err
}

func isDir(description string) bool { return strings.HasPrefix(description, "04") }

// memory says whether a path is in the agent's own directory, whose content differs from run to
// run.
func memory(path string) bool { return strings.HasPrefix(path, "/var/lib/netwright/") }

// torn lists the files that are neither as they were nor as they must become.
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

// differs lists what is not as it must be in the end, also staged files.
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

// mixed lists the sets of files that are partly old and partly new.
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

// early lists the files that are in place before the files that they need.
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
