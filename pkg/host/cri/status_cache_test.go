package cri

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// stoppedRuntime answers, except while it is stopped.
type stoppedRuntime struct {
	fakeRuntime
	mu      sync.Mutex
	stopped chan struct{} // nil: the runtime runs
	asked   chan struct{}
	version string
}

func (f *stoppedRuntime) set(stopped chan struct{}, version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped, f.version = stopped, version
}

func (f *stoppedRuntime) Version(ctx context.Context, _ *cri.VersionRequest) (*cri.VersionResponse, error) {
	f.mu.Lock()
	stopped, version := f.stopped, f.version
	f.mu.Unlock()
	if stopped != nil {
		f.asked <- struct{}{}
		select {
		case <-stopped:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: "containerd", RuntimeVersion: version, RuntimeApiVersion: "v1"}, nil
}

// A look does not wait for a runtime that no longer answers. It uses the last answer, and learns
// when the answer changes.
func TestARuntimeThatStopsHoldsNoLook(t *testing.T) {
	f := &stoppedRuntime{fakeRuntime: fakeRuntime{response: &cri.StatusResponse{Status: &cri.RuntimeStatus{}}}, asked: make(chan struct{}, 100), version: "v1"}
	socket := serveCRI(t, f, &cri.RuntimeService_ServiceDesc)
	r := NewStatusCache()
	if s, known, err := r.Status(t.Context(), socket); err != nil || !known || s.Version != "v1" {
		t.Fatalf("Status returns %+v, %t, %v", s, known, err)
	}
	stopped := make(chan struct{})
	f.set(stopped, "v2")
	for range 3 { // the server answers only when this test allows it
		if s, known, err := r.Status(t.Context(), socket); err == nil || !known || s.Version != "v1" {
			t.Errorf("of a runtime that stopped: %+v, %t, %v", s, known, err)
		}
	}
	<-f.asked
	if n := len(f.asked); n > 0 {
		t.Errorf("it was asked %d times more while the first question is open", n)
	}
	close(stopped)
	select {
	case <-r.Changed():
	case <-time.After(time.Minute):
		t.Fatal("a changed answer is not reported")
	}
	f.set(nil, "v2")
	if s, known, err := r.Status(t.Context(), socket); err != nil || !known || s.Version != "v2" {
		t.Errorf("Status returns %+v, %t, %v", s, known, err)
	}
	select {
	case <-r.Changed():
		t.Error("an answer that a look got is reported as a change")
	default:
	}
}

// A runtime at another socket has another status, and so has a socket without a runtime: the former
// answer does not count.
func TestAnotherRuntime(t *testing.T) {
	first := &stoppedRuntime{fakeRuntime: fakeRuntime{response: &cri.StatusResponse{Status: &cri.RuntimeStatus{}}}, version: "v1"}
	r := NewStatusCache()
	if _, known, err := r.Status(t.Context(), serveCRI(t, first, &cri.RuntimeService_ServiceDesc)); err != nil || !known {
		t.Fatalf("the first status: known %t, %v; want a known one", known, err)
	}
	if s, known, err := r.Status(t.Context(), socketDir(t)+"/none.sock"); err == nil || known {
		t.Errorf("Status returns %+v, %t, %v", s, known, err)
	}
}

// A runtime that was started again and serves no CRI has answered: nothing counts of what its
// predecessor said.
func TestARuntimeWithoutCRIIsAnother(t *testing.T) {
	first := &stoppedRuntime{fakeRuntime: fakeRuntime{response: &cri.StatusResponse{Status: &cri.RuntimeStatus{}}}, version: "v1"}
	socket := socketDir(t) + "/cri.sock"
	r := NewStatusCache()
	for _, c := range []struct {
		of    string
		known bool
	}{{serveCRI(t, first, &cri.RuntimeService_ServiceDesc), true}, {serveCRI(t, first), false}} {
		_ = os.Remove(socket) // the first time it is not there
		if err := os.Symlink(c.of, socket); err != nil {
			t.Fatal(err)
		}
		if s, known, err := r.Status(t.Context(), socket); known != c.known || (err == nil) != c.known {
			t.Errorf("Status returns %+v, %t, %v", s, known, err)
		}
	}
}
