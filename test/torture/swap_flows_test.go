package torture

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/trap"
)

// swapFlow is work of the agent on a root in which others can write to some directories.
type swapFlow struct {
	name    string
	applied bool     // the agent has worked there before
	change  string   // a script that changes the root before it
	code    int      // the exit code without a swap
	args    []string // besides --root
}

// swapTargets has what others can replace: in a user's own directory, and in those of pods with a
// hostPath.
var swapTargets = []string{
	"home/app/.config", "home/app/.config/app", "home/app/.config/app/app.conf",
	"opt/cni", "opt/cni/bin", "opt/cni/bin/bridge", "etc/cni/net.d", "etc/cni/net.d/99-x.conf",
}

// The released agent works on an image. At each call that names something which others can replace,
// a link to a tree of root replaces it, by a rename or by an exchange, or another name of a file of
// root does. Nothing of that tree changes, and no part of its content comes into the state
// directory, into the output or into a support archive. A file that is only compared may be read.
//
// What keeps it: as for TestSwappedPaths, and pkg/reconcile/changes/check_paths.go checkPaths,
// pkg/tasks/path_baseline.go Baseline, pkg/tasks/file.go showOld, cmd/agent/support_pieces.go.
func TestSwappedFlows(t *testing.T) {
	needs.Root(t)
	program := agent(t)
	asset := "  - {name: app, path: /home/app/.config/app/app.conf, owner: \"1000:1000\", mode: \"0640\", content: ours}\n"
	usual, without := t.TempDir(), t.TempDir()
	for store, spec := range map[string]string{usual: "  fileAssets:\n" + asset, without: ""} {
		d := nodeDocuments(t, "v1", baseSpec+"  networking:\n    cni: {}\n"+spec)
		members := "- name: cni-plugins\n    members: [bridge, host-local, portmap, loopback]\n"
		d["cluster.yaml"] = strings.Replace(d["cluster.yaml"], "- name: cni-plugins\n", members, 1)
		d.write(t, store)
	}
	by := func(store string, args ...string) []string {
		return append([]string{"--store", store, "--cluster", cluster, "--node", "node-1"}, args...)
	}
	tried := 0
	for _, f := range []swapFlow{
		{name: "apply", args: by(usual, "--once")},
		{name: "repair", applied: true, change: "echo x >home/app/.config/app/app.conf; chmod 0700 opt/cni/bin/bridge", args: by(usual, "--once")},
		{name: "own", applied: true, change: "chown 0:0 home/app/.config/app/app.conf; chmod 0600 opt/cni/bin/bridge", args: by(usual, "--once")},
		{name: "prune", applied: true, args: by(without, "--once")},
		{name: "dry run", applied: true, change: "echo x >home/app/.config/app/app.conf", code: 2, args: by(usual, "--dry-run")},
		{name: "reset", applied: true, args: by(usual, "reset")},
		{name: "support", applied: true, args: by(usual, "support", "--file", "/tmp/netwright-swap-support.tgz")},
	} {
		t.Run(f.name, func(t *testing.T) { tried += f.swapAll(t, program, by(usual, "--once")) })
	}
	report(t, "paths swapped in flows", tried, 0, "%d places", len(swapTargets))
}

// swapAll tries each swap at each call that names one of the places, or at a sample of these calls.
func (f swapFlow) swapAll(t *testing.T, program string, apply []string) (tried int) {
	l := newSwapRoot(t)
	if f.applied {
		l.script(t, fmt.Sprintf("%s %s --root .", program, strings.Join(apply, " ")))
	}
	l.script(t, f.change+"\ncp -a . ../ready")
	run := func(at int, what func()) (named int) {
		l.script(t, "cd ..; rm -rf root; cp -a ready root")
		o, err := trap.Look(t.Context(), append([]string{program, "--root", l.root}, f.args...), os.Environ(), func(c trap.Call) trap.Decision {
			if l.names(c) {
				if named++; named == at {
					what()
				}
			}
			return trap.Decision{}
		})
		if err != nil {
			t.Fatal(err)
		}
		if at == 0 && o.Code != f.code {
			t.Fatalf("undisturbed: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
		}
		if at > 0 {
			tried++
			if why := l.wrong(t, o); why != "" {
				t.Errorf("at call %d: %s", at, why)
			}
		}
		return named
	}
	all := run(0, nil)
	n := 0
	for _, place := range swapTargets {
		for _, way := range []string{"link", "exchange", "another name"} {
			if info, err := os.Lstat(l.ready(place)); way == "another name" && (err != nil || !info.Mode().IsRegular()) {
				continue
			}
			for at := 1 + n%either(1, 211); at <= all; at += either(1, 211) {
				run(at, func() { l.swap(t, place, way) })
			}
			n += 4 // another sample
		}
	}
	t.Logf("%d calls name a place", all)
	return tried
}

// swapRoot is a root with a tree of root, which nobody may change through the places.
type swapRoot struct {
	dir, root string
	outside   map[string]string
}

func newSwapRoot(t *testing.T) *swapRoot {
	dir := t.TempDir()
	l := &swapRoot{dir: dir, root: dir + "/root"}
	if err := os.Mkdir(l.root, 0o755); err != nil {
		t.Fatal(err)
	}
	l.script(t, `for at in . outside; do mkdir -p $at/home/app/.config/app $at/opt/cni/bin $at/etc/cni/net.d; done
		mkdir outside/bin; chown -R 1000:1000 home/app; echo '{"name": "x", "cniVersion": "1.0.0", "type": "bridge"}' >etc/cni/net.d/99-x.conf
		for file in home/app/.config/app/app.conf opt/cni/bin/bridge etc/cni/net.d/99-x.conf secret; do printf SECRET >outside/$file; chown 33:33 outside/$file; chmod 0640 outside/$file; done`)
	l.outside = l.look(t)
	return l
}

func (l *swapRoot) ready(place string) string { return l.dir + "/ready/" + place }

func (l *swapRoot) script(t *testing.T, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-euc", script)
	cmd.Dir = l.root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
}

// names says whether a call names a place, something in it, or what is staged there.
func (l *swapRoot) names(c trap.Call) bool {
	for _, word := range []string{".config", "app.conf", "/opt/cni", "net.d", "bridge", ".netwright-", "/home/app"} {
		if strings.Contains(c.Target, word) {
			return !strings.Contains(c.Target, "/store") && !strings.Contains(c.Target, "/var/lib/netwright")
		}
	}
	return c.Target == "app" || c.Target == "cni" || c.Target == "bin"
}

func (l *swapRoot) swap(t *testing.T, place, way string) {
	at, away := l.root+"/"+place, l.root+"/away"
	target := "/outside/" + place
	switch way {
	case "link":
		_ = os.Rename(at, away)
		_ = os.Symlink(target, at) // without its directory there is nothing to replace
	case "exchange":
		if err := os.Symlink(target, away); err != nil {
			t.Fatal(err)
		}
		_ = unix.Renameat2(unix.AT_FDCWD, away, unix.AT_FDCWD, at, unix.RENAME_EXCHANGE)
	case "another name":
		if err := os.Link(l.root+"/outside/secret", away); err != nil {
			t.Fatal(err)
		}
		_ = os.Rename(away, at)
	}
}

// look returns the state of the tree outside the places.
func (l *swapRoot) look(t *testing.T) map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir(l.root+"/outside", func(at string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(at, &st)
		}
		all[at] = fmt.Sprintf("%o %d:%d %d bytes, %d", st.Mode, st.Uid, st.Gid, st.Size, st.Mtim.Nano())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// wrong returns what happened to the tree outside; "" is nothing.
func (l *swapRoot) wrong(t *testing.T, o trap.Outcome) string {
	if now := l.look(t); !maps.Equal(now, l.outside) {
		return fmt.Sprintf("what is outside is %v, was %v", now, l.outside)
	}
	if strings.Contains(o.Stdout+o.Stderr, "SECRET") {
		return "what is outside was printed"
	}
	const bundle = "/tmp/netwright-swap-support.tgz"
	found := ""
	for _, in := range []string{l.root + "/var/lib/netwright", bundle} {
		err := filepath.WalkDir(in, func(at string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(at)
			if z, bad := gzip.NewReader(bytes.NewReader(data)); bad == nil {
				data, err = io.ReadAll(z)
			}
			if bytes.Contains(data, []byte("SECRET")) {
				found = "what is outside is in " + at
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := os.Remove(bundle); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return found
}
