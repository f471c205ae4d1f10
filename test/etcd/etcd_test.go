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
	if s.Health(nil) == nil {
		t.Error("let in without a certificate")
	}
	s.Refused("client didn't provide a certificate")
	stranger := pki.New(t, "another-ca").Client("calico-client")
	if s.Health(&stranger) == nil {
		t.Error("let in with a certificate of another authority")
	}
	s.Refused("signed by unknown authority")
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
	if result := n.Run(ctx, "curl", health...); result.Code == 0 || result.Stdout != "" {
		t.Errorf("without a certificate: %+v, want no answer", result)
	}
	s.Refused("client didn't provide a certificate")
}
