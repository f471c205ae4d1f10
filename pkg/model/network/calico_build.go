package network

import (
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/tasks"
)

func buildCalico(in Input, b *Built) error {
	if err := b.addEtcd(in); err != nil {
		return err
	}
	if calicoWireGuard.If(in) && in.Facts.OS.ID == "ubuntu" {
		b.note(Info, in.Origin("spec.networking.calico.wireguardEnabled"),
			"wireguardEnabled: kOps installs the package wireguard on Ubuntu; kernels from 5.6 on have the module "+
				"without it, so we install nothing")
	}
	if err := b.fitMTU(in, "spec.networking.calico.mtu", in.Node.Networking.Calico.MTU, calicoAdds(in)); err != nil {
		return err
	}
	if calicoBPF.If(in) {
		b.noteKubeProxy(in, "spec.networking.calico.bpfEnabled", "calico")
	}
	return nil
}

// addEtcd installs the client certificates for an etcd that demands them. Files, names and modes
// are those of kOps (nodeup/pkg/model/etcd_tls.go up to 1.19), or Calico's own in calico-tls.
func (b *Built) addEtcd(in Input) error {
	etcd := in.Node.Networking.Calico.Etcd
	if etcd == nil {
		return nil
	}
	origin := in.Origin("spec.networking.calico.etcd")
	if !etcd.TLS {
		b.note(Warning, origin, "calico reaches its etcd over plain http (%s): anybody on that network can rewrite "+
			"the cluster's policy; use https endpoints",
			strings.Join(etcd.Endpoints, ", "))
		return nil
	}
	c := etcd.Certificates
	err := b.addIdentity(in, identity{network: "calico", origin: origin, because: "its etcd is reached over https",
		why: "its etcd demands client certificates", server: "etcd",
		keypair: c.Keypair, caName: c.CA, ca: func(pair Keypair) []byte { return etcdCA(in, c, pair) }, dir: c.Dir,
		commonName: calicoCommonName(c),
		CA:         certFile(c.CAFile()), Cert: certFile(c.CertFile()), Key: certFile(c.KeyFile())})
	if err != nil {
		return err
	}
	if strings.HasPrefix(c.Dir, in.ConfDir+"/") && path.Base(c.Dir) == "calico-tls" {
		b.note(Info, origin, "%s is also filled by Calico's own installer when the Secret calico-etcd-secrets has "+
			"certificates: leave those empty, or the two write in turns", c.Dir)
	}
	return nil
}

// etcdCA returns the CA that Calico checks etcd's certificate with. If a document names one, that
// one counts. Otherwise it is the CA that signed the client certificate. The store has it with the
// keypair, while its name differs: in kOps the cluster's CA is "ca" or, since 1.22,
// "kubernetes-ca".
func etcdCA(in Input, c networks.Certificates, pair Keypair) []byte {
	named, found := in.Keypairs[c.CA]
	isDefault := in.Node.Origin("spec.networking.calico.etcd.certificates.ca").IsDefault()
	if isDefault || !found && c.CA == "ca" {
		return pair.CA
	}
	return named.CA
}

// calicoCommonName returns the common name that kOps puts into the certificate; "" for a keypair
// with another name, whose common name is not checked.
func calicoCommonName(c networks.Certificates) string {
	if c.Keypair == "calico-client" {
		return "calico-client"
	}
	return ""
}

func certFile(file string) tasks.CertFile { return tasks.CertFile{Name: path.Base(file), Mode: 0o600} }

// calicoAdds returns the largest overhead of Calico's encapsulations. A mode that encapsulates only
// across subnets adds nothing within a subnet, so it does not count as sure. That is kOps' default,
// except on OpenStack for IPIP and on Azure for VXLAN (pkg/model/components/calico.go). Dual-stack
// pods may also have packets over IPv6.
// https://docs.tigera.io/calico/latest/networking/configuring/mtu
func calicoAdds(in Input) encapsulation {
	c := in.Node.Networking.Calico
	var out encapsulation
	widen := func(by string, always bool, four, six int) {
		sure := four
		if !in.V4 {
			sure = six
		}
		out.most = max(out.most, sure)
		if in.V6 {
			out.most = max(out.most, six)
		}
		if always && sure > out.sure {
			out.by, out.sure = by, sure
		}
	}
	if calicoIPIP.If(in) {
		widen("IPIP", c.IPIPMode == "Always" || c.IPIPMode == "" && in.Node.CloudProvider == "openstack", 20, 0)
	}
	if c.EncapsulationMode == "vxlan" && c.VXLANMode != "Never" {
		widen("VXLAN", c.VXLANMode == "Always" || c.VXLANMode == "" && in.Node.CloudProvider == "azure", 50, 70)
	}
	if calicoWireGuard.If(in) {
		widen("WireGuard", true, 60, 80)
	}
	return out
}
