package daemon

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

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/needs"
)

// wanting is a set of tasks as if a store had asked for it.
func wanting(list ...tasks.Task) *desired.State {
	return &desired.State{
		Node:     &config.Node{Cluster: "c", Name: "n"},
		Snapshot: &statestore.Snapshot{Origin: "test", Revision: statestore.Revision{Generation: 1}},
		Held:     &desired.Held{Network: "test", Recorded: list},
	}
}

func onRoot(root string) reconcile.Pass {
	return reconcile.Pass{Host: host.Options{Root: root}, Log: zap.NewNop()}
}

// converge makes a whole pass on a root, ledger and all.
func converge(t testing.TB, root string, list ...tasks.Task) (*report.Plan, error) {
	t.Helper()
	needs.Root(t) // files belong to root
	return onRoot(root).Converge(t.Context(), wanting(list...))
}

func file(path, content string) tasks.File {
	return tasks.File{Meta: tasks.Meta{From: "test"}, Path: path, Content: []byte(content), Mode: 0o644}
}

func said(p *report.Plan) string {
	var b strings.Builder
	for _, n := range p.Notes {
		b.WriteString(n.Level + ": " + n.Text + "\n")
	}
	for _, s := range p.Steps {
		b.WriteString(s.Key + " " + string(s.State) + ": " + s.Message + "\n")
	}
	return b.String()
}

func there(root, path string) bool {
	_, err := os.Lstat(filepath.Join(root, path))
	return err == nil
}

func put(t testing.TB, root, path, content string) {
	t.Helper()
	at := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tree is what stat and read say of all below a root, times of change included.
func tree(t testing.TB, root string) map[string]string {
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

func read(t *testing.T, root, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// sealed makes the ledger of a root one that cannot be written, as a full disk does.
func sealed(t *testing.T, root string, on bool) {
	t.Helper()
	dir := filepath.Join(root, "var/lib/netwright")
	if on {
		immutable(t, filepath.Join(dir, "journal"), on)
	}
	immutable(t, dir, on)
	if !on {
		immutable(t, filepath.Join(dir, "journal"), on)
	}
}

// immutable holds a path off root, or ends that.
func immutable(t testing.TB, path string, on bool) {
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

// keep writes what the ledger keeps in a file of its own.
func keep(t *testing.T, root, name string, what any) {
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

// reasons are those of the keys that a plan removes.
func reasons(p *report.Plan) map[string]string {
	out := map[string]string{}
	for _, s := range p.Steps {
		for _, it := range s.Items {
			if it.Op == "-" {
				out[it.Key] = s.Reason
			}
		}
	}
	return out
}
