package kops

import (
	"cmp"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// roles maps the roles as kOps writes or wrote them to the agent's names.
var roles = [...]struct{ written, role string }{
	{"Node", RoleNode}, {"ControlPlane", RoleControlPlane}, {"APIServer", RoleAPIServer}, {"Bastion", RoleBastion},
	{"Master", RoleControlPlane},
}

// Role reads the role of a node group, in any form that kOps has ever written.
func Role(to *string) decode.Set {
	return func(v decode.Reading) {
		var s string
		decode.Choice("role", &s, roles[0].written, roles[1].written, roles[2].written, roles[3].written,
			roles[4].written).Set(v)
		if r := RoleOf(s); r != "" {
			*to = r
		}
	}
}

// ControlPlaneKubelet returns what a cluster's document says about kubelet on the control plane
// only, or nil. It wins over spec.kubelet. The node group's document wins over it.
// https://github.com/kubernetes/kops/blob/master/upup/pkg/fi/cloudup/spec_builder.go
func ControlPlaneKubelet(spec *document.Value) *document.Value {
	return cmp.Or(spec.Get("masterKubelet"), spec.Get("controlPlaneKubelet")) // v1alpha2, v1alpha3
}

// RoleOf returns the role for a written name, or "" if there is none.
func RoleOf(written string) string {
	for _, r := range roles {
		if r.written == written {
			return r.role
		}
	}
	return ""
}

// These are the roles of kOps' instance groups.
const (
	RoleNode         = "Node"
	RoleControlPlane = "ControlPlane" // kOps before 1.26 calls it "Master"
	RoleAPIServer    = "APIServer"
	RoleBastion      = "Bastion"
)
