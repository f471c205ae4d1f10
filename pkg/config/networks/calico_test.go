package networks

import "testing"

func TestCertificateFiles(t *testing.T) {
	for dir, want := range map[string][3]string{
		"/srv/kubernetes/calico":    {"/srv/kubernetes/calico/ca.pem", "/srv/kubernetes/calico/calico-client.pem", "/srv/kubernetes/calico/calico-client-key.pem"},
		"/etc/cni/net.d/calico-tls": {"/etc/cni/net.d/calico-tls/etcd-ca", "/etc/cni/net.d/calico-tls/etcd-cert", "/etc/cni/net.d/calico-tls/etcd-key"},
	} {
		c := Certificates{Dir: dir}
		if got := [3]string{c.CAFile(), c.CertFile(), c.KeyFile()}; got != want {
			t.Errorf("%s: got %v, want %v", dir, got, want)
		}
	}
}
