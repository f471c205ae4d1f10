package decode

import (
	"cmp"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
)

// Reporter reports problems that appear only from several documents together, each at the place
// that caused it.
type Reporter struct {
	Docs    map[string]*Doc // by path
	Cluster *Doc            // the place for what no document has
	Origins Origins
	Checks  bool // see [Decoder]
}

// ErrorAt reports an error at the place that set path, or at the nearest parent that a document
// set.
func (r *Reporter) ErrorAt(path string, diag document.Diagnostic) {
	diag.Severity = document.SeverityError
	r.say(path, diag)
}

// WarnAt is like [Reporter.ErrorAt], but reports a warning.
func (r *Reporter) WarnAt(path string, diag document.Diagnostic) {
	diag.Severity = document.SeverityWarning
	r.say(path, diag)
}

// Checked reports an error where documents are checked, and a warning on a node.
func (r *Reporter) Checked(at string, diag document.Diagnostic) {
	if r.Checks {
		r.ErrorAt(at, diag)
	} else {
		r.WarnAt(at, diag)
	}
}

// Origin returns where the value at path came from.
func (r *Reporter) Origin(path string) document.Origin { return r.Origins[path] }

func (r *Reporter) say(path string, diag document.Diagnostic) {
	diag.Field = path
	for at := path; ; at = at[:strings.LastIndexByte(at, '.')] {
		if o := r.Origins[at]; o.File != "" {
			r.ReportAt(o, diag)
			return
		}
		if !strings.Contains(at, ".") {
			r.ReportAt(document.Origin{File: r.Cluster.Path, Line: 1, Column: 1}, diag)
			return
		}
	}
}

// ReportAt reports at one place, with the severity of diag.
func (r *Reporter) ReportAt(o document.Origin, diag document.Diagnostic) {
	cmp.Or(r.Docs[o.File], r.Cluster).ReportAt(document.Pos{Line: o.Line, Column: o.Column}, diag)
}
