package config

import (
	"net/netip"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
)

// validator checks what no single value shows: the merged node as a whole.
type validator struct {
	loader *loader
	node   *Node
}

// errorAt reports at the place that said path, or the nearest parent that a document said.
func (v *validator) errorAt(path string, diag document.Diagnostic) {
	diag.Severity = document.SeverityError
	v.report(path, diag)
}

func (v *validator) warnAt(path string, diag document.Diagnostic) {
	diag.Severity = document.SeverityWarning
	v.report(path, diag)
}

func (v *validator) report(path string, diag document.Diagnostic) {
	diag.Field = path
	for at := path; ; at = at[:strings.LastIndexByte(at, '.')] {
		if o := v.node.Origin(at); o.File != "" {
			v.reportAt(o, diag)
			return
		}
		if !strings.Contains(at, ".") {
			v.reportAt(document.Origin{File: v.loader.cluster.Path, Line: 1, Column: 1}, diag)
			return
		}
	}
}

func (v *validator) reportAt(o document.Origin, diag document.Diagnostic) {
	doc := v.loader.docs[o.File]
	if doc == nil {
		doc = v.loader.cluster
	}
	doc.ReportAt(document.Pos{Line: o.Line, Column: o.Column}, diag)
}

func sameFamily(c values.CIDRs, p netip.Prefix) netip.Prefix { return c.Family(p.Addr().Is4()) }

// within tells whether the whole of p lies in q.
func within(p, q netip.Prefix) bool { return q.Bits() <= p.Bits() && q.Contains(p.Addr()) }
