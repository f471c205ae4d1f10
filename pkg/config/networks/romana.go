package networks

import (
	"fmt"
	"net/netip"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// Romana has the fields of kOps' romana (1.8 to 1.18): the addresses of its two services. Romana's
// parts on the node need them because no DNS is available yet.
// https://github.com/kubernetes/kops/blob/v1.18.0/pkg/apis/kops/networking.go, RomanaNetworkingSpec
type Romana struct {
	// DaemonServiceIP: Sets the address of the service romana. The default is the 99th of the
	// services' range.
	DaemonServiceIP string `json:"daemonServiceIP"`
	// EtcdServiceIP: Sets the address of the service romana-etcd. The default is the 88th of the
	// services' range.
	EtcdServiceIP string `json:"etcdServiceIP"`
}

func (m *Romana) fields() []decode.Field {
	return []decode.Field{
		decode.Text("daemonServiceIP", &m.DaemonServiceIP, decode.ValidIPv4),
		decode.Text("etcdServiceIP", &m.EtcdServiceIP, decode.ValidIPv4),
	}
}

// fill sets the addresses that kOps sets.
// https://github.com/kubernetes/kops/blob/v1.18.0/pkg/model/components/networking.go,
// WellKnownServiceIP.
func (m *Romana) fill(s *ClusterSettings, o decode.Origins) {
	services := s.Services.V4()
	if !services.IsValid() || services.Bits() > 24 {
		return
	}
	of := func(host byte) string {
		four := services.Addr().As4()
		four[3] += host
		return netip.AddrFrom4(four).String()
	}
	decode.Fill(o, "spec.networking.romana.daemonServiceIP", document.KopsDefault, &m.DaemonServiceIP, of(99))
	decode.Fill(o, "spec.networking.romana.etcdServiceIP", document.KopsDefault, &m.EtcdServiceIP, of(88))
}

// check requires two different addresses within the range of services.
func (m *Romana) check(s *ClusterSettings, r *decode.Reporter) {
	const at = "spec.networking.romana."
	services := s.Services.V4()
	for _, f := range []struct{ name, ip string }{{"daemonServiceIP", m.DaemonServiceIP},
		{"etcdServiceIP", m.EtcdServiceIP}} {
		if a, err := netip.ParseAddr(f.ip); err == nil && services.IsValid() && !services.Contains(a) {
			r.ErrorAt(at+f.name, document.Diagnostic{Summary: fmt.Sprintf("%s %s is no address of "+
				"serviceClusterIPRange %s (%s)", f.name, a, services, r.Origin("spec.serviceClusterIPRange"))})
		}
	}
	if m.DaemonServiceIP != "" && m.DaemonServiceIP == m.EtcdServiceIP {
		r.ErrorAt(at+"etcdServiceIP", document.Diagnostic{Summary: "romana's daemon and its etcd have one service " +
			"address: " + m.EtcdServiceIP, Expected: "two addresses"})
	}
}
