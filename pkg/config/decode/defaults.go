package decode

import (
	"time"

	"github.com/netwright/netwright/pkg/config/document"
)

// Default returns f with the agent's own default.
func (f Field) Default(value any) Field {
	f.otherwise = value
	return f
}

// KopsDefault returns f with kOps' default.
func (f Field) KopsDefault(value any) Field {
	f.otherwise, f.ofKops = value, true
	return f
}

// FillFields gives the fields at a path their defaults, if no document sets them.
func FillFields(o Origins, at string, fields []Field) {
	for _, f := range fields {
		whose := document.NodeDefault
		if f.ofKops {
			whose = document.KopsDefault
		}
		if f.otherwise == nil || !o.unsaid(at+"."+f.Name, whose) {
			continue
		}
		switch to := f.to.(type) {
		case *string:
			*to = f.otherwise.(string)
		case *bool:
			*to = f.otherwise.(bool)
		case *int:
			*to = f.otherwise.(int)
		case *time.Duration:
			*to = f.otherwise.(time.Duration)
		}
	}
}
