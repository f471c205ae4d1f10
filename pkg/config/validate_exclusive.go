package config

import (
	"fmt"

	"github.com/netwright/netwright/pkg/config/document"
)

// exclusive refuses options that cannot be had together, as kOps does where it has both
// (pkg/apis/kops/validation/validation.go), and says where the other one stands.
func (v *validator) exclusive() {
	w := &v.node.Networking
	if c := w.Calico; c != nil {
		v.noKubeProxy(c.BPFEnabled, "spec.networking.calico.bpfEnabled", "calico's eBPF")
		v.encapsulation(c)
	}
	if c := w.Cilium; c != nil {
		v.noKubeProxy(c.EnableNodePort, "spec.networking.cilium.enableNodePort", "cilium")
		v.ciliumOptions(c)
	}
	v.noKubeProxy(w.KubeRouter != nil, "spec.networking.kubeRouter", "kube-router")
}

// noKubeProxy: two that serve the services overwrite each other's rules.
func (v *validator) noKubeProxy(replaced bool, path, by string) {
	if on := v.node.KubeProxy; replaced && on != nil && *on {
		v.ErrorAt(path, document.Diagnostic{Summary: fmt.Sprintf("%s serves the services in place of kube-proxy, which is enabled (%s)", by, v.node.Origin("spec.kubeProxy.enabled")),
			Expected: "spec.kubeProxy.enabled: false"})
	}
}

func (v *validator) encapsulation(c *Calico) {
	const at = "spec.networking.calico"
	n := v.node
	six := n.PodCIDR.V6().IsValid() && !n.PodCIDR.V4().IsValid()
	switch mode := c.EncapsulationMode; {
	case six && mode == "ipip":
		v.ErrorAt(at+".encapsulationMode", document.Diagnostic{Summary: fmt.Sprintf("IPIP carries IPv4 only, and podCIDR is %s (%s)", n.PodCIDR, n.Origin("spec.podCIDR")), Expected: "one of none, vxlan"})
	case mode != "ipip" && c.IPIPMode != "" && c.IPIPMode != "Never":
		v.ErrorAt(at+".ipipMode", document.Diagnostic{Summary: fmt.Sprintf("ipipMode is %s, and encapsulationMode is %s (%s)", c.IPIPMode, mode, n.Origin(at+".encapsulationMode")),
			Expected: "ipipMode: Never, or encapsulationMode: ipip"})
	case mode != "vxlan" && c.VXLANMode != "" && c.VXLANMode != "Never":
		v.ErrorAt(at+".vxlanMode", document.Diagnostic{Summary: fmt.Sprintf("vxlanMode is %s, and encapsulationMode is %s (%s)", c.VXLANMode, mode, n.Origin(at+".encapsulationMode")),
			Expected: "vxlanMode: Never, or encapsulationMode: vxlan"})
	case n.CloudProvider == "azure" && mode != "vxlan":
		v.ErrorAt(at+".encapsulationMode", document.Diagnostic{Summary: fmt.Sprintf("encapsulationMode is %s, and Azure (%s) lets neither IPIP nor pods' addresses pass", mode, n.Origin("spec.cloudProvider")),
			Expected: "vxlan"})
	}
}

func (v *validator) ciliumOptions(c *Cilium) {
	const at = "spec.networking.cilium"
	switch {
	case c.EncryptionType != "" && !v.node.Origin(at+".encryptionType").IsDefault() && !c.EnableEncryption:
		v.WarnAt(at+".encryptionType", document.Diagnostic{Summary: "encryptionType is " + c.EncryptionType + ", and encryption is off: nothing is encrypted", Expected: "enableEncryption: true"})
	case c.ENI() && v.node.PodCIDR.V6().IsValid():
		v.ErrorAt(at+".ipam", document.Diagnostic{Summary: fmt.Sprintf("ipam eni has no IPv6, and podCIDR is %s (%s)", v.node.PodCIDR, v.node.Origin("spec.podCIDR")), Expected: "kubernetes"})
	}
}
