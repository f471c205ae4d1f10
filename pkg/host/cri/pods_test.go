package cri

import (
	"context"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// podRuntime is a runtime with pods. It answers with real messages over real gRPC.
type podRuntime struct {
	fakeRuntime
	pods  []*cri.PodSandbox
	modes map[string]cri.NamespaceMode
	calls []string
}

func (f *podRuntime) ListPodSandbox(context.Context, *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	return &cri.ListPodSandboxResponse{Items: f.pods}, nil
}

func (f *podRuntime) PodSandboxStatus(_ context.Context, r *cri.PodSandboxStatusRequest) (*cri.PodSandboxStatusResponse, error) {
	mode, known := f.modes[r.PodSandboxId]
	if !known {
		return nil, status.Error(codes.NotFound, "no such sandbox")
	}
	return &cri.PodSandboxStatusResponse{Info: map[string]string{"info": "{}"}, Status: &cri.PodSandboxStatus{Id: r.PodSandboxId,
		Network: &cri.PodSandboxNetworkStatus{Ip: "10.244.1.2", AdditionalIps: []*cri.PodIP{{Ip: "fd00:10:244:1::2"}, {}}}, Labels: map[string]string{"a": "b"},
		Linux: &cri.LinuxPodSandboxStatus{Namespaces: &cri.Namespace{Options: &cri.NamespaceOption{Network: mode, Pid: cri.NamespaceMode_NODE, Ipc: cri.NamespaceMode_NODE}}}}}, nil
}

func (f *podRuntime) ListContainers(context.Context, *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	container := func(pod, name string, state cri.ContainerState) *cri.Container {
		return &cri.Container{Id: pod + name, PodSandboxId: pod, Metadata: &cri.ContainerMetadata{Name: name, Attempt: 3}, State: state}
	}
	return &cri.ListContainersResponse{Containers: []*cri.Container{
		container("1", "kube-flannel", cri.ContainerState_CONTAINER_RUNNING), container("1", "install-cni", cri.ContainerState_CONTAINER_EXITED),
		container("2", "web", cri.ContainerState_CONTAINER_RUNNING), container("unknown", "web", cri.ContainerState_CONTAINER_RUNNING),
	}}, nil
}

func (f *podRuntime) StopPodSandbox(_ context.Context, r *cri.StopPodSandboxRequest) (*cri.StopPodSandboxResponse, error) {
	f.calls = append(f.calls, "stop "+r.PodSandboxId)
	if _, known := f.modes[r.PodSandboxId]; !known {
		return nil, status.Error(codes.NotFound, "no such sandbox")
	}
	return &cri.StopPodSandboxResponse{}, f.err
}

func (f *podRuntime) RemovePodSandbox(_ context.Context, r *cri.RemovePodSandboxRequest) (*cri.RemovePodSandboxResponse, error) {
	f.calls = append(f.calls, "remove "+r.PodSandboxId)
	return &cri.RemovePodSandboxResponse{}, nil
}

func TestPodsOfTheRuntime(t *testing.T) {
	sandbox := func(id, name string, state cri.PodSandboxState) *cri.PodSandbox {
		return &cri.PodSandbox{Id: id, Metadata: &cri.PodSandboxMetadata{Name: name, Namespace: "ns", Uid: "u"}, State: state, Labels: map[string]string{"a": "b"}}
	}
	f := &podRuntime{
		pods: []*cri.PodSandbox{sandbox("1", "flannel", cri.PodSandboxState_SANDBOX_READY), sandbox("2", "web", cri.PodSandboxState_SANDBOX_READY),
			sandbox("3", "ended", cri.PodSandboxState_SANDBOX_NOTREADY), sandbox("gone", "gone", cri.PodSandboxState_SANDBOX_READY)},
		modes: map[string]cri.NamespaceMode{"1": cri.NamespaceMode_NODE, "2": cri.NamespaceMode_POD, "3": cri.NamespaceMode_POD},
	}
	socket := serveCRI(t, f, &cri.RuntimeService_ServiceDesc)
	got, err := Pods(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	addresses := []netip.Addr{netip.MustParseAddr("10.244.1.2"), netip.MustParseAddr("fd00:10:244:1::2")}
	want := []Pod{
		{ID: "1", Namespace: "ns", Name: "flannel", Ready: true, HostNetwork: true, Running: []string{"kube-flannel"}},
		{ID: "2", Namespace: "ns", Name: "web", Ready: true, Running: []string{"web"}, Addresses: addresses},
		{ID: "3", Namespace: "ns", Name: "ended", Addresses: addresses},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}

	for _, id := range []string{"2", "gone"} {
		if err := RemovePod(t.Context(), socket, id); err != nil {
			t.Errorf("remove %s: %v", id, err)
		}
	}
	if want := []string{"stop 2", "remove 2", "stop gone", "remove gone"}; !slices.Equal(f.calls, want) {
		t.Errorf("called %q, want %q", f.calls, want)
	}
	f.err = status.Error(codes.Unknown, "plugin type=\"flannel\" failed (delete)")
	if err := RemovePod(t.Context(), socket, "2"); err == nil {
		t.Error("a pod whose network could not be taken away counts as removed")
	}
}
