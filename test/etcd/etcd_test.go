package etcd_test

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/etcd"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/pki"
)

func TestOnlyItsOwnClients(t *testing.T) {
	ctx := t.Context()
	s := etcd.Start(t, etcd.Options{})
	calico := s.Authority.Client("calico-client")
	if err := s.Health(&calico); err != nil {
		t.Errorf("its own client is not let in: %v", err)
	}
	for _, args := range [][]string{{"put", "/calico/v1/x", "kept"}, {"get", "/calico/v1/x"}} {
		if out, err := s.Do(ctx, calico, args...); err != nil || args[0] == "get" && !strings.Contains(out, "kept") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	if err := s.Health(nil); err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("without a certificate: %v, want a refusal", err)
	}
	stranger := pki.New(t, "another-ca").Client("calico-client")
	if err := s.Health(&stranger); err == nil || !strings.Contains(err.Error(), "bad certificate") && !strings.Contains(err.Error(), "unknown") {
		t.Errorf("with a certificate of another authority: %v, want a refusal", err)
	}
}

func TestFromANode(t *testing.T) {
	ctx := t.Context()
	fabric := node.NewFabric(t)
	s := etcd.Start(t, etcd.Options{Netns: fabric.Netns(), Address: node.Gateway4})
	calico := s.Authority.Client("calico-client")
	n := fabric.Node(t, node.Options{
		Name: "n", Address: "10.77.0.11",
		Files:  map[string]string{"/pki/ca.crt": s.Authority.PEM, "/pki/client.crt": calico.Cert, "/pki/client.key": calico.Key},
		Copies: map[string]string{"/usr/local/bin/etcdctl": s.Ctl},
	})
	n.Must(ctx, "etcdctl", "--endpoints="+s.Endpoint, "--cacert=/pki/ca.crt", "--cert=/pki/client.crt", "--key=/pki/client.key", "put", "key", "value")
	health := []string{"-sS", "--cacert", "/pki/ca.crt", s.Endpoint + "/health"}
	n.Must(ctx, "curl", append(health, "--cert", "/pki/client.crt", "--key", "/pki/client.key")...)
	if result := n.Run(ctx, "curl", health...); result.Code != 56 || !strings.Contains(result.Stderr, "alert") {
		t.Errorf("without a certificate: %+v, want a refusal in the handshake", result)
	}
}
