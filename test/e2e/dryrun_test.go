package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/pki"
	"github.com/netwright/netwright/test/rerun"
)

// exampleStore returns an example with what its users add to it: plugins, certificates, and the
// address that the node has here.
func exampleStore(t *testing.T, name, address, assetURL, sum string) store {
	t.Helper()
	s := store{dir: t.TempDir()}
	if err := os.CopyFS(filepath.Join(s.dir, cluster), os.DirFS("../../examples/"+name+"/demo.example.com")); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := strings.NewReplacer("demo.example.com", cluster, "10.0.0.11", address, "10.0.0.12", "10.77.0.99").Replace(string(data))
		if filepath.Base(path) == "cluster.yaml" {
			text += assetSpec(sum, assetURL)
		}
		return os.WriteFile(path, []byte(text), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	if name == "calico-etcd" {
		ca := pki.New(t, "etcd-ca")
		client := ca.Client("calico-client")
		s.write(t, "pki/issued/ca/1.crt", ca.PEM)
		s.write(t, "pki/issued/calico-client/1.crt", client.Cert)
		s.write(t, "pki/private/calico-client/1.key", client.Key)
	}
	return s
}

// The first run of each example makes exactly the changes and effects that its dry run listed. The
// dry run fetches no asset and writes nothing: as root, on a read-only root, and as an ordinary
// user. After the run nothing is left to do.
func TestExamplesDoWhatTheirDryRunLists(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "a dry run must never write")
	fabric := node.NewFabric(t)
	archive, sum := assets.CNIArchive(t)
	var fetched atomic.Int64
	var listener net.Listener
	if err := fabric.Do(func() (err error) {
		listener, err = net.Listen("tcp4", node.Gateway4+":0")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fetched.Add(1)
		http.ServeFile(w, r, archive)
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	url := "http://" + listener.Addr().String() + "/cni.tgz"

	for i, name := range []string{"bridge", "calico-etcd", "cni", "flannel", "kubenet"} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			address := fmt.Sprintf("10.77.0.%d", 21+i)
			o := options(t, exampleStore(t, name, address, url, sum), "node-1", address, node.Options{})
			o.Name = name // on the fabric; the agent knows it as node-1
			n := fabric.Node(t, o)
			fetched.Store(0)
			units := unitsOf(ctx, n)
			before := n.Snapshot()
			p := plan(ctx, t, n, 2)
			readOnly(ctx, t, n, p)
			ordinary(ctx, t, n, p)
			if diff := quiet(node.Diff(before, n.Snapshot())); len(diff) > 0 {
				t.Errorf("a dry run changed the node:\n%s", strings.Join(diff, "\n"))
			}
			if got := fetched.Load(); got != 0 {
				t.Errorf("dry runs fetched an asset %d times", got)
			}
			n.Must(ctx, "netwright", "--once")
			idle(t, n) // the run asked for a restart and did not wait for it
			if name == "bridge" && fetched.Load() == 0 {
				t.Error("the real run fetched no asset: the server counts nothing")
			}
			listedIsDone(t, keys(p), changedKeys(t, node.Diff(before, n.Snapshot())))
			effectsAreDone(t, keys(p), units, unitsOf(ctx, n))
			if again := plan(ctx, t, n, 0); again.Summary.Changes() != 0 {
				t.Errorf("%d changes are left", again.Summary.Changes())
			}
		})
	}
}

// readOnly makes the dry run where nothing can be written. The plan says of each file that it
// cannot be written, and is otherwise the same.
func readOnly(ctx context.Context, t *testing.T, n *node.Node, want report.Plan) {
	t.Helper()
	res := n.Run(ctx, "unshare", "--mount", "--propagation", "private", "sh", "-c",
		"for m in $(findmnt -rno TARGET -t overlay,tmpfs,ext4,xfs); do mount -o remount,bind,ro $m || exit 9; done; ! touch /etc/x /run/x /var/lib/x 2>/dev/null && exec netwright --dry-run -o json")
	got := planOf(t, res, 1)
	wanted, held := map[string]string{}, map[string]bool{}
	for _, s := range want.Steps {
		wanted[s.Key] = encoded(t, s)
	}
	for _, s := range got.Steps {
		switch {
		case s.State == report.Failed && strings.HasPrefix(s.Key, "file:") && strings.Contains(s.Message, "read-only file system: mount it writable"), held[s.Because]:
			held[s.Key] = true
		case encoded(t, s) != wanted[s.Key]:
			t.Errorf("on a read-only root this is planned:\n%s\nand not\n%s", encoded(t, s), wanted[s.Key])
		}
		delete(wanted, s.Key)
	}
	for key, step := range wanted {
		if !strings.HasPrefix(key, "effect:") { // the effect of a file that cannot be written
			t.Errorf("on a read-only root this is not planned:\n%s", step)
		}
	}
	if len(held) == 0 {
		t.Error("no file is said to be on a read-only root")
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// ordinary makes the dry run as a user who may not read everything. The dry run plans what it can
// as root does. It names the rest, with the reason. Its exit code is 2 where it planned everything,
// and otherwise 1.
func ordinary(ctx context.Context, t *testing.T, n *node.Node, want report.Plan) {
	t.Helper()
	res := n.Run(ctx, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "netwright", "--dry-run", "-o", "json")
	got := planOf(t, res, res.Code)
	code, steps := 2, map[string]report.Step{}
	for _, step := range got.Steps {
		steps[step.Key] = step
		if step.State != report.Failed {
			continue
		}
		code = 1
		if !strings.Contains(step.Message, "root is needed") && !strings.Contains(step.Message, "permission denied") {
			t.Errorf("as an ordinary user: %s: %s", step.Key, step.Message)
		}
	}
	if res.Code != code {
		t.Errorf("as an ordinary user the exit code is %d, want %d", res.Code, code)
	}
	for _, step := range want.Steps {
		if is, named := steps[step.Key]; step.State == report.Planned && (!named || is.State == report.Planned && encoded(t, is) != encoded(t, step)) {
			t.Errorf("as an ordinary user %s is %+v, want %+v", step.Key, is, step)
		}
	}
}

// unitsOf returns for each service the invocation of its last start, and the number of systemd's
// reloads.
func unitsOf(ctx context.Context, n *node.Node) map[string]string {
	out := map[string]string{"reloads": n.Shell(ctx, "journalctl --sync; journalctl -b _PID=1 -o cat | grep -c '^Reloading' || true")}
	for _, unit := range []string{"containerd.service", "kubelet.service"} {
		out[unit] = n.Must(ctx, "systemctl", "show", "--value", "-p", "InvocationID", unit)
	}
	return out
}

// effectsAreDone checks that the listed units were restarted, and no others.
func effectsAreDone(t *testing.T, listed map[string]bool, before, after map[string]string) {
	t.Helper()
	for unit := range maps.Keys(before) {
		key := "effect:restart " + unit
		if unit == "reloads" {
			key = "effect:daemon-reload"
		}
		if changed := before[unit] != after[unit]; changed != listed[key] && (changed || before[unit] != "\n") {
			t.Errorf("%s: listed %t, and it was %q and is %q", key, listed[key], before[unit], after[unit])
		}
	}
}

// listedIsDone compares the keys of a plan with the keys that changed.
func listedIsDone(t *testing.T, listed, changed map[string]bool) {
	t.Helper()
	edits := strings.Join(slices.Sorted(maps.Keys(listed)), "\n")
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		if !listed[key] && !strings.Contains(edits, strings.Replace(key, "file:", "toml:", 1)+"#") {
			t.Errorf("%s changed and was not listed", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(listed)) {
		if edited, ok := strings.CutPrefix(key, "toml:"); ok {
			key, _, _ = strings.Cut(edited, "#")
			key = "file:" + key
		}
		if kind, _, _ := strings.Cut(key, ":"); kind != "effect" && kind != "unit" && kind != "module" && !changed[key] {
			t.Errorf("%s was listed and did not change", key)
		}
	}
}
