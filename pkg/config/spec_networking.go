package config

import (
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/kops"
)

func (r *reader) networking() decode.Field {
	n := r.node
	w := &n.Networking
	return decode.Into("networking", func() []decode.Field {
		fields := w.Fields(&n.CNI)
		if r.dialect.Nested {
			fields = append(fields, r.ranges()...)
		}
		fields = append(fields, w.MultusField())
		if r.dialect != &kops.V1Alpha2 { // kOps has no such fields
			fields = append(fields, w.SharedFields()...)
		}
		return fields
	})
}
