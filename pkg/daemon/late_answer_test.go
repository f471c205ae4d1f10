package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/test/hostroot"
)

// An answer about a certificate that comes after its pass wakes the daemon, and the pass that
// follows takes it. The lines that keep it: loop.go, await (questions.Ended);
// pkg/certs/issue/wait_for_api.go, answer.
func TestALateAnswerAboutACertificateWakes(t *testing.T) {
	b := newBox(t)
	answer := make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-answer
		fmt.Fprint(w, `{"kind": "CertificateSigningRequest", "status": {"conditions": [{"type": "Denied", "status": "True", "reason": "NotHere"}]}}`)
	}))
	defer api.Close()
	dir := t.TempDir()
	hostroot.Put(t, dir, "kubeconfig", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],
		clusters: [{name: k, cluster: {server: "%s"}}], users: [{name: u, user: {token: secret}}]}`, api.URL))
	b.document(t, b.plugins(t, "plugins.tar", "")+
		"  certificates: [{name: own, source: kubernetes, signer: example.com/own, dir: /etc/own, lifetime: 1h}]\n")
	b.daemon.Pass.Certificates = func() (issue.CertificateAPI, error) {
		return kube.Open(dir+"/kubeconfig", kube.Options{OnlyFiles: true, OwnConnections: true})
	}
	l := newLoop(b.daemon)
	t.Cleanup(l.drift.close)
	l.status.begin(b.daemon, l.turn.daemon)
	var err error
	if l.desired, err = desired.Load(t.Context(), l.Store, config.Select{Node: "n"}, statestore.Revision{}); err != nil {
		t.Fatal(err)
	}
	l.round(t.Context(), trigger{cause: "start"})
	if text := fmt.Sprint(l.status.now.Keys); !strings.Contains(text, "the Kubernetes API to answer about the request") {
		t.Fatalf("the pass does not wait for the answer: %s", text)
	}
	l.next = time.Now().Add(time.Hour)
	close(answer)
	ctx, stop := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("the daemon slept"))
	defer stop()
	w := l.wait(ctx)
	if ctx.Err() != nil || w.cause != "the Kubernetes API answered about a certificate" {
		t.Fatalf("it woke up for %q (%v)", w.cause, context.Cause(ctx))
	}
	l.round(t.Context(), w)
	if text := fmt.Sprint(l.status.now.Keys); !strings.Contains(text, "was refused (Denied: NotHere") {
		t.Errorf("the pass after the answer does not take it: %s", text)
	}
}
