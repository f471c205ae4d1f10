package kops

import (
	"cmp"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// roles as kOps writes them, old and new, and as we call them.
var roles = [...]struct{ written, role string }{
	{"Node", RoleNode}, {"ControlPlane", RoleControlPlane}, {"APIServer", RoleAPIServer}, {"Bastion", RoleBastion},
	{"Master", RoleControlPlane},
}

// Role takes the role of a node group, as kOps has written it at any time.
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

// ControlPlaneKubelet is what a cluster's document says of kubelet on the control plane alone; nil:
// nothing. It counts more than spec.kubelet, and less than the group's.
// https://github.com/kubernetes/kops/blob/master/upup/pkg/fi/cloudup/spec_builder.go
func ControlPlaneKubelet(spec *document.Value) *document.Value {
	return cmp.Or(spec.Get("masterKubelet"), spec.Get("controlPlaneKubelet")) // v1alpha2, v1alpha3
}

// RoleOf is the role that is meant by what is written; "" where none is.
func RoleOf(written string) string {
	for _, r := range roles {
		if r.written == written {
			return r.role
		}
	}
	return ""
}

// The roles of kOps' instance groups.
const (
	RoleNode         = "Node"
	RoleControlPlane = "ControlPlane" // "Master" in kOps before 1.26 means the same
	RoleAPIServer    = "APIServer"
	RoleBastion      = "Bastion"
)
