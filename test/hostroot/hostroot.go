// Package hostroot is for tests that converge a directory in place of a host. It writes below that
// root, and reads what is there.
package hostroot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/test/needs"
)

// There reports whether something exists at a path below a root.
func There(root, path string) bool {
	_, err := os.Lstat(filepath.Join(root, path))
	return err == nil
}

// Put writes a file below a root, and makes the directories above the file.
func Put(t testing.TB, root, path, content string) {
	t.Helper()
	at := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Tree lists everything below a root, as stat and read see it, including the times of change.
func Tree(t testing.TB, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		content := ""
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(data)
		}
		st := info.Sys().(*syscall.Stat_t)
		out[strings.TrimPrefix(path, root)] = fmt.Sprintf("%v %d:%d %v %q", info.Mode(), st.Uid, st.Gid, info.ModTime().UnixNano(), content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Read returns the content of a file below a root.
func Read(t testing.TB, root, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Seal makes the ledger of a root unwritable, as a full disk does.
func Seal(t testing.TB, root string, on bool) {
	t.Helper()
	dir := filepath.Join(root, "var/lib/netwright")
	if on {
		MakeImmutable(t, filepath.Join(dir, "journal"), on)
	}
	MakeImmutable(t, dir, on)
	if !on {
		MakeImmutable(t, filepath.Join(dir, "journal"), on)
	}
}

// MakeImmutable sets the immutable flag of a path, or clears it.
func MakeImmutable(t testing.TB, path string, on bool) {
	t.Helper()
	needs.Root(t)
	f, err := os.Open(path)
	if !on && errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		needs.Missing(t, "a file system below "+os.TempDir()+" that has immutable files: "+err.Error())
	}
	flags &^= unix.STATX_ATTR_IMMUTABLE // the same bit as the flag's
	if on {
		flags |= unix.STATX_ATTR_IMMUTABLE
	}
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags); err != nil {
		needs.Missing(t, "a file system below "+os.TempDir()+" that has immutable files: "+err.Error())
	}
}

// Keep writes a part of the ledger that has its own file.
func Keep(t testing.TB, root, name string, what any) {
	t.Helper()
	data, err := json.Marshal(what)
	if err == nil {
		err = os.MkdirAll(filepath.Join(root, ledger.Dir), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(root, ledger.Dir, name), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
