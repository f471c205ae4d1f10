package cri

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"pgregory.net/rapid"
)

// fakeRuntime answers with real messages over real gRPC.
type fakeRuntime struct {
	cri.UnimplementedRuntimeServiceServer
	response *cri.StatusResponse
	err      error
	verbose  bool
	hang     bool
	name     string // "": containerd
}

func (f *fakeRuntime) Version(ctx context.Context, _ *cri.VersionRequest) (*cri.VersionResponse, error) {
	if f.hang {
		<-ctx.Done()
	}
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: cmp.Or(f.name, "containerd"), RuntimeVersion: "v2.1.4", RuntimeApiVersion: "v1"}, nil
}

func (f *fakeRuntime) Status(_ context.Context, r *cri.StatusRequest) (*cri.StatusResponse, error) {
	f.verbose = r.Verbose
	return f.response, f.err
}

func (f *fakeRuntime) serve(t *testing.T, services ...*grpc.ServiceDesc) (socket string) {
	t.Helper()
	return serveCRI(t, f, services...)
}

// serveCRI serves a runtime in the versions of CRI that the services have.
func serveCRI(t *testing.T, f any, services ...*grpc.ServiceDesc) (socket string) {
	t.Helper()
	socket = socketDir(t) + "/cri.sock"
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	for _, d := range services {
		s.RegisterService(d, f)
	}
	go s.Serve(l)
	t.Cleanup(s.Stop)
	return socket
}

// socketDir returns a directory for a socket, whose path may have at most 107 bytes (unix(7)). So
// the directory is not below TMPDIR, whose path may be long.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "netwright-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestAskCRI(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	f := &fakeRuntime{response: &cri.StatusResponse{
		Status: &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{
			{Type: "RuntimeReady", Status: true},
			{Type: "NetworkReady", Status: false, Reason: "NetworkPluginNotReady", Message: "cni plugin not initialized"},
		}},
		Info:            map[string]string{"config": `{"cni":{}}`, "empty": "", "big": big},
		RuntimeHandlers: []*cri.RuntimeHandler{{Name: "runc", Features: &cri.RuntimeHandlerFeatures{UserNamespaces: true}}},
	}}
	got, err := askCRI(t.Context(), f.serve(t, &cri.RuntimeService_ServiceDesc), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "containerd" || got.Version != "v2.1.4" || got.NetworkReady == nil || *got.NetworkReady ||
		got.NetworkReason != "cni plugin not initialized" || len(got.Info) != 3 || got.Info["config"] != `{"cni":{}}` || got.Info["big"] != big {
		t.Errorf("askCRI returns %+v", got)
	}
	if !f.verbose {
		t.Error("did not ask for a verbose answer")
	}
}

func TestAskCRIOfOldRuntimes(t *testing.T) {
	old := cri.RuntimeService_ServiceDesc
	old.ServiceName = "runtime.v1alpha2.RuntimeService"
	f := &fakeRuntime{response: &cri.StatusResponse{Status: &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{{Type: "NetworkReady", Status: true}}}}}
	got, err := askCRI(t.Context(), f.serve(t, &old), time.Minute)
	if err != nil || got.NetworkReady == nil || !*got.NetworkReady {
		t.Errorf("askCRI returns %+v, %v", got, err)
	}
}

// CRI-O serves its configuration by HTTP/1.1 at the socket of its gRPC, as this server does.
func TestAskCRIO(t *testing.T) {
	f := &fakeRuntime{name: "cri-o", response: &cri.StatusResponse{Status: &cri.RuntimeStatus{}}}
	rpc := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(rpc, f)
	for path, want := range map[string]string{"/config": "[crio.network]\n", "/none": ""} {
		both := &http.Server{ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.ProtoMajor == 2:
				rpc.ServeHTTP(w, r)
			case r.URL.Path == path:
				_, _ = io.WriteString(w, "[crio.network]\n")
			default:
				http.NotFound(w, r)
			}
		})}
		both.Protocols.SetHTTP1(true)
		both.Protocols.SetUnencryptedHTTP2(true)
		socket := socketDir(t) + "/crio.sock"
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		go both.Serve(l)
		t.Cleanup(func() { _ = both.Close() })
		if got, err := askCRI(t.Context(), socket, time.Minute); err != nil || got.Info["toml"] != want {
			t.Errorf("%s: %+v, %v; want toml %s", path, got, err, want)
		}
	}
}

func TestAskCRIErrors(t *testing.T) {
	f := &fakeRuntime{err: status.Error(codes.Internal, "no 100 % luck")}
	_, err := askCRI(t.Context(), f.serve(t, &cri.RuntimeService_ServiceDesc), time.Minute)
	if err == nil || !strings.Contains(err.Error(), `gRPC code "13"`) || !strings.Contains(err.Error(), "no 100 % luck") {
		t.Errorf("a failing runtime: %v", err)
	}
	if _, err := askCRI(t.Context(), f.serve(t), time.Minute); !errors.Is(err, ErrUnimplemented) || !strings.Contains(err.Error(), "plugin cri is switched off") {
		t.Errorf("a server without CRI: %v", err)
	}
	if _, err := askCRI(t.Context(), t.TempDir()+"/none.sock", time.Minute); err == nil || !strings.Contains(err.Error(), "none.sock") {
		t.Errorf("no server: %v", err)
	}
	hangs := &fakeRuntime{hang: true}
	if _, err := askCRI(t.Context(), hangs.serve(t, &cri.RuntimeService_ServiceDesc), 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "did not answer within") {
		t.Errorf("a runtime that hangs: %v", err)
	}
}

func TestEachFieldOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		read := 0
		_ = eachField(raw, func(_ int, _ uint64, data []byte) { read += len(data) })
		if read > len(raw) {
			t.Fatalf("%d bytes of %d", read, len(raw))
		}
	})
}
