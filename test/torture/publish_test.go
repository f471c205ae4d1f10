package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/netwright/netwright/test/needs"
)

// The real containerd loads every conf that the agent publishes, by its watch on the directory. It
// misses none of many in a row.
//
// What keeps it: pkg/host/hostfs/batch.go open, which stages beside the target. A file that comes
// from another directory by a rename raises no event that containerd heeds
// (https://github.com/containerd/containerd/issues/11715).
func TestEveryConfIsLoaded(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	b := newBench(t)
	tried, lost := 0, 0
	for i := range either(50, 8) {
		mtu := 1300 + i
		b.put(nodeDocuments(t, "v1", baseSpec+fmt.Sprintf("  networking:\n    bridge: {mtu: %d}\n", mtu)))
		if o := b.run(t, nil, pass); o.Code != 0 {
			t.Fatalf("exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
		}
		tried++
		want := fmt.Sprintf(`"mtu":%d`, mtu)
		deadline := time.Now().Add(2 * time.Minute) // only so that a test that hangs ends
		info := ""
		for !strings.Contains(info, want) && time.Now().Before(deadline) {
			info = strings.NewReplacer(`\`, "", " ", "").Replace(status(t, b.n.Path("/run/containerd/containerd.sock")))
			time.Sleep(10 * time.Millisecond)
		}
		if !strings.Contains(info, want) {
			lost++
			t.Errorf("conf %d is not loaded: no %s in %s", i, want, info)
		}
	}
	report(t, "confs loaded by containerd", tried, lost, "each seen in its CRI status")
}

// status returns what containerd says of itself and of its network, over CRI.
func status(t testing.TB, socket string) string {
	t.Helper()
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answer, err := cri.NewRuntimeServiceClient(conn).Status(ctx, &cri.StatusRequest{Verbose: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(answer.GetInfo())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
