package e2e

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// sandboxRequest returns a file with the gRPC message that asks for a pod. It is for a machine on
// which curl is the client. https://github.com/grpc/grpc/blob/v1.60.0/doc/PROTOCOL-HTTP2.md
func sandboxRequest(t *testing.T) string {
	t.Helper()
	message, err := proto.Marshal(&cri.RunPodSandboxRequest{Config: &cri.PodSandboxConfig{
		Metadata: &cri.PodSandboxMetadata{Name: "pod", Namespace: "default", Uid: "pod-uid"}, LogDirectory: "/var/log/pods",
		DnsConfig: &cri.DNSConfig{Servers: []string{"10.96.0.10"}}, // else the runtime copies the machine's resolv.conf, which it may not have
		Linux:     &cri.LinuxPodSandboxConfig{SecurityContext: &cri.LinuxSandboxSecurityContext{NamespaceOptions: &cri.NamespaceOption{Pid: cri.NamespaceMode_CONTAINER}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "request")
	frame := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...) // no compression, the length
	if err := os.WriteFile(path, frame, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
