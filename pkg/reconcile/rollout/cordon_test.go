package rollout

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/kube/access"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/test/hostroot"
)

// A node stays cordoned between the tries of a switch, and no longer than the switch is tried.
func TestACordonLastsAsLongAsTheSwitchIsTried(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("a task failed"), false},
		{fmt.Errorf("it was undone: %w", &checkpoint.UndoneError{}), true},
		{&checkpoint.UndoneError{Verdict: checkpoint.Verdict{Bad: true}}, false},
		{&checkpoint.UndoneError{Verdict: checkpoint.Verdict{Unconfirmed: true}}, false},
		{errors.Join(errors.New("a task failed"), &checkpoint.SuppressedError{}), true},
		{&checkpoint.SuppressedError{Verdict: checkpoint.Verdict{Bad: true}}, false},
		{&checkpoint.RefusedError{Err: errors.New("no room")}, false}, // it did not begin
	} {
		if got := RetriesLater(c.err); got != c.want {
			t.Errorf("%v: RetriesLater returns %t, want %v", c.err, got, c.want)
		}
	}
}

// A cordoned node must be uncordoned until the server has accepted that, or says that the Node is
// gone. On most nodes the agent has no kubeconfig of its own, which changes nothing. An agent that
// could never ask a server has nothing to do, nor has a machine that boots from another's disk.
func TestACordonIsOwedUntilItIsTakenBack(t *testing.T) {
	code, cordoned := http.StatusOK, false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		if code != http.StatusOK {
			fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": %d, "reason": %q}`, code,
				map[int]string{http.StatusNotFound: "NotFound"}[code])
			return
		}
		if patch, err := io.ReadAll(r.Body); err == nil && len(patch) > 0 {
			cordoned = strings.Contains(string(patch), `"unschedulable":true`)
		}
		note := ""
		if cordoned {
			note = `"netwright.dev/cordoned": "a switch"`
		}
		fmt.Fprintf(w, `{"metadata": {"name": "n", "annotations": {%s}}, "spec": {"unschedulable": %t}}`, note, cordoned)
	}))
	defer s.Close()
	dir := t.TempDir()
	kubelets := filepath.Join(dir, "kubelet.conf")
	root := t.TempDir()
	hostroot.Put(t, root, "/etc/machine-id", "one\n")
	h, err := host.Open(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	h.Live.Facts.Kubelet.Kubeconfig = kubelets
	r := Rollout{Host: host.Options{Root: "/"}, API: &access.API{Kubeconfig: filepath.Join(dir, "own")}}
	owed := func() bool {
		t.Helper()
		learnt, err := ledger.LoadAPICache(h.Live.Files)
		if err != nil {
			t.Fatal(err)
		}
		return learnt.Cordoned
	}
	cordon := func() error {
		return r.Cordon(t.Context(), h, ledger.APICache{Node: "n"}, "n", "a switch")
	}

	if err := cordon(); err == nil || owed() {
		t.Errorf("without a kubeconfig: %v, owed %t", err, owed())
	}
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],
		clusters: [{name: k, cluster: {server: %q}}], users: [{name: u, user: {}}]}`, s.URL)
	if err := os.WriteFile(kubelets, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cordon(); err != nil || !owed() || !cordoned {
		t.Fatalf("cordoned %t, owed %t: %v", cordoned, owed(), err)
	}
	code = http.StatusServiceUnavailable
	if r.Uncordon(t.Context(), h); !owed() {
		t.Error("a server that is not ready ends what is owed")
	}
	if err := os.Rename(kubelets, kubelets+".away"); err != nil {
		t.Fatal(err)
	}
	if r.Uncordon(t.Context(), h); !owed() {
		t.Error("a kubeconfig that is away ends what is owed")
	}
	if err := os.Rename(kubelets+".away", kubelets); err != nil {
		t.Fatal(err)
	}
	code = http.StatusOK
	if r.Uncordon(t.Context(), h); owed() || cordoned {
		t.Errorf("the server answers again: owed %t, cordoned %t", owed(), cordoned)
	}
	if err := cordon(); err != nil || !owed() {
		t.Fatalf("cordoned again: owed %t: %v", owed(), err)
	}
	hostroot.Put(t, root, "/etc/machine-id", "another\n") // its disk is a copy
	if r.Uncordon(t.Context(), h); owed() || !cordoned {
		t.Errorf("another machine: owed %t, cordoned %t", owed(), cordoned)
	}
	hostroot.Put(t, root, "/etc/machine-id", "one\n")
	code = http.StatusNotFound
	if r.Uncordon(t.Context(), h); owed() {
		t.Error("the Node is gone, and it is to be uncordoned still")
	}
}
