package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Traces lists the differences between two snapshots that a person could see. It leaves out another
// inode with the same content, and a directory of the base that was copied up. It also leaves out
// files for whose path excuse returns true; nil excuses no file.
func (n *Node) Traces(before, after Snapshot, excuse func(path string) bool) []string {
	n.t.Helper()
	var out []string
	for _, line := range Diff(before, after) {
		mark, rest, _ := strings.Cut(line, " ")
		kind, rest, _ := strings.Cut(rest, " ")
		name, state, _ := strings.Cut(rest, ": ")
		if kind == "file" && (excuse != nil && excuse(name) || n.alike(mark, name, state)) {
			continue
		}
		out = append(out, line)
	}
	return out
}

func (n *Node) alike(mark, name, state string) bool {
	was, is, changed := strings.Cut(state, " → ")
	if link := strings.Count(state, " → "); mark == "~" && link == 3 { // two symlinks
		half := strings.Index(state, " → mode=")
		was, is, changed = state[:half], state[half+len(" → "):], true
	}
	if mark == "~" && changed {
		return visible(was) == visible(is)
	}
	if mark != "+" {
		return false
	}
	at := filepath.Join(Base(n.t), name)
	if info, err := os.Lstat(at); err != nil || !info.IsDir() {
		return false
	}
	var st unix.Stat_t
	if err := unix.Lstat(at, &st); err != nil {
		return false
	}
	return visible(state) == visible(fmt.Sprintf("mode=%o owner=%d:%d inode=0 ctime=0 mtime=%d.%09d", st.Mode, st.Uid, st.Gid, st.Mtim.Sec, st.Mtim.Nsec))
}

// visible is a file's description without inode and ctime, which nobody can set.
func visible(state string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(state), func(f string) bool {
		return strings.HasPrefix(f, "inode=") || strings.HasPrefix(f, "ctime=")
	}), " ")
}
