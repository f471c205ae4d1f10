package network

import (
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/tasks"
)

func buildCalico(in Input) (Built, error) {
	b := Built{KubeletPlugin: "cni"}
	if err := b.addEtcd(in); err != nil {
		return b, err
	}
	if calicoWireGuard(in) && in.Facts.OS.ID == "ubuntu" {
		b.note(Info, in.Origin("spec.networking.calico.wireguardEnabled"),
			"wireguardEnabled: kOps installs the package wireguard on Ubuntu; kernels from 5.6 on have the module without it, so we install nothing")
	}
	b.noteMTU(in, "spec.networking.calico.mtu", in.Node.Networking.Calico.MTU, calicoOverhead(in))
	if calicoBPF(in) {
		b.noteKubeProxy(in, "spec.networking.calico.bpfEnabled", "calico")
	}
	b.Wait = in.waitConf(calicoConf, "its DaemonSet writes it")
	return b, nil
}

// addEtcd installs the client certificates for an etcd that demands them. Files, names and modes are kOps' (nodeup/pkg/model/etcd_tls.go up to
// 1.19), or Calico's own under calico-tls.
func (b *Built) addEtcd(in Input) error {
	etcd := in.Node.Networking.Calico.Etcd
	if etcd == nil {
		return nil
	}
	origin := in.Origin("spec.networking.calico.etcd")
	if !etcd.TLS {
		b.note(Warning, origin, "calico reaches its etcd over plain http (%s): anybody on that network can rewrite the cluster's policy; use https endpoints",
			strings.Join(etcd.Endpoints, ", "))
		return nil
	}
	c := etcd.Certificates
	err := b.addIdentity(in, identity{network: "calico", origin: origin, because: "its etcd is reached over https", why: "its etcd demands client certificates", server: "etcd",
		keypair: c.Keypair, caName: c.CA, ca: func(pair Keypair) []byte { return etcdCA(in, c, pair) }, dir: c.Dir, commonName: calicoCommonName(c),
		CA: certFile(c.CAFile()), Cert: certFile(c.CertFile()), Key: certFile(c.KeyFile())})
	if err != nil {
		return err
	}
	if strings.HasPrefix(c.Dir, in.ConfDir+"/") && path.Base(c.Dir) == "calico-tls" {
		b.note(Info, origin, "%s is also filled by Calico's own installer when the Secret calico-etcd-secrets has certificates: leave those empty, or the two write in turns", c.Dir)
	}
	return nil
}

// etcdCA is the CA that etcd's own certificate is checked with. One that a document names decides. Otherwise it is the one that signed the
// client's, which the store knows best: kOps has the cluster's as "ca" or, since 1.22, as "kubernetes-ca".
func etcdCA(in Input, c config.Certificates, pair Keypair) []byte {
	named, found := in.Keypairs[c.CA]
	isDefault := in.Node.Origin("spec.networking.calico.etcd.certificates.ca").IsDefault()
	if isDefault || !found && c.CA == "ca" {
		return pair.CA
	}
	return named.CA
}

// calicoCommonName is what kOps puts into the certificate; one of another name may say anything.
func calicoCommonName(c config.Certificates) string {
	if c.Keypair == "calico-client" {
		return "calico-client"
	}
	return ""
}

func certFile(file string) tasks.CertFile { return tasks.CertFile{Name: path.Base(file), Mode: 0o600} }

// calicoOverhead is what the widest of its encapsulations adds to a packet, in bytes.
// https://docs.tigera.io/calico/latest/networking/configuring/mtu
func calicoOverhead(in Input) int {
	six := in.V6 && !in.V4
	overhead := 0
	if calicoIPIP(in) {
		overhead = 20
	}
	if in.Node.Networking.Calico.EncapsulationMode == "vxlan" {
		overhead = byFamily(six, 50, 70)
	}
	if calicoWireGuard(in) {
		overhead = max(overhead, byFamily(six, 60, 80))
	}
	return overhead
}

func byFamily(six bool, four, sixth int) int {
	if six {
		return sixth
	}
	return four
}
