package reconcile

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/test/hostroot"
)

// An API accepts connections, and does not answer about a certificate. Meanwhile a pass of the
// daemon repairs what somebody changed. When the request has ended, a pass is due, which takes the
// answer. The line that keeps it: pkg/certs/issue/wait_for_api.go, ask.
func TestARepairWaitsForNoCertificate(t *testing.T) {
	t.Parallel() // the request takes ten seconds to end
	b, _ := newAskBench(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	// The kernel accepts the connections, and no program reads from them.
	hostroot.Put(t, b.dir, "kubeconfig", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],
		clusters: [{name: k, cluster: {server: "http://%s"}}], users: [{name: u, user: {token: secret}}]}`, silent.Addr()))
	b.pass.Certificates = func() (issue.CertificateAPI, error) {
		return kube.Open(b.dir+"/kubeconfig", kube.Options{OnlyFiles: true, OwnConnections: true})
	}
	b.pass.Questions = issue.NewQuestions()
	const conf = "/etc/modules-load.d/netwright.conf"
	for i := range 3 {
		if i == 1 {
			hostroot.Put(t, b.root, conf, "changed\n")
		}
		p := b.converge()
		if !strings.Contains(said(p), "to answer about the request netwright-m-1-own-") {
			t.Fatalf("pass %d waited for the answer:\n%s", i, said(p))
		}
		if hostroot.Read(t, b.root, conf) == "changed\n" {
			t.Errorf("pass %d repairs nothing:\n%s", i, said(p))
		}
	}
	select {
	case <-b.pass.Questions.Ended():
	case <-time.After(time.Minute):
		t.Fatal("the question does not end")
	}
	if p := b.converge(); !strings.Contains(said(p), "no answer within") {
		t.Errorf("the next pass does not say how it ended:\n%s", said(p))
	}
}
