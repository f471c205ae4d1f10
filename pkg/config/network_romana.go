package config

import (
	"fmt"
	"net/netip"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// Romana is kOps' romana (1.8 to 1.18): the addresses of its two services, which its parts on the
// node are told since no DNS is there yet.
// https://github.com/kubernetes/kops/blob/v1.18.0/pkg/apis/kops/networking.go, RomanaNetworkingSpec
type Romana struct {
	DaemonServiceIP string `json:"daemonServiceIP"` // the address of its service romana; without it the 99th of the services' range
	EtcdServiceIP   string `json:"etcdServiceIP"`   // the address of its service romana-etcd; without it the 88th of the services' range
}

func (r *Romana) fields() []decode.Field {
	return []decode.Field{
		{Name: "daemonServiceIP", Set: decode.Text(&r.DaemonServiceIP, decode.ValidIPv4)},
		{Name: "etcdServiceIP", Set: decode.Text(&r.EtcdServiceIP, decode.ValidIPv4)},
	}
}

// fillRomana: https://github.com/kubernetes/kops/blob/v1.18.0/pkg/model/components/networking.go,
// WellKnownServiceIP.
func (n *Node) fillRomana() {
	r, services := n.Networking.Romana, n.ServiceClusterIPRange.V4()
	if r == nil || !services.IsValid() || services.Bits() > 24 {
		return
	}
	of := func(host byte) string {
		four := services.Addr().As4()
		four[3] += host
		return netip.AddrFrom4(four).String()
	}
	decode.Fill(n.origins, "spec.networking.romana.daemonServiceIP", document.KopsDefault, &r.DaemonServiceIP, of(99))
	decode.Fill(n.origins, "spec.networking.romana.etcdServiceIP", document.KopsDefault, &r.EtcdServiceIP, of(88))
}

// romana: its services are two, and services' addresses.
func (v *validator) romana() {
	r := v.node.Networking.Romana
	if r == nil {
		return
	}
	const at = "spec.networking.romana."
	services := v.node.ServiceClusterIPRange.V4()
	for _, f := range []struct{ name, ip string }{{"daemonServiceIP", r.DaemonServiceIP}, {"etcdServiceIP", r.EtcdServiceIP}} {
		if a, err := netip.ParseAddr(f.ip); err == nil && services.IsValid() && !services.Contains(a) {
			v.ErrorAt(at+f.name, document.Diagnostic{Summary: fmt.Sprintf("%s %s is no address of serviceClusterIPRange %s (%s)", f.name, a, services, v.node.Origin("spec.serviceClusterIPRange"))})
		}
	}
	if r.DaemonServiceIP != "" && r.DaemonServiceIP == r.EtcdServiceIP {
		v.ErrorAt(at+"etcdServiceIP", document.Diagnostic{Summary: "romana's daemon and its etcd have one service address: " + r.EtcdServiceIP, Expected: "two addresses"})
	}
}
