package config

import (
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
)

// report says what is wrong with what several documents say together, each thing at the place that
// said it.
type report struct {
	docs    map[string]*specDocument // by path
	cluster *specDocument            // where it is said what no document has
	origins origins
	checks  bool // see [decoder.checks]
}

// errorAt reports at the place that said path, or the nearest parent that a document said.
func (r *report) errorAt(path string, diag document.Diagnostic) {
	diag.Severity = document.SeverityError
	r.say(path, diag)
}

// warnAt is [report.errorAt] for a warning.
func (r *report) warnAt(path string, diag document.Diagnostic) {
	diag.Severity = document.SeverityWarning
	r.say(path, diag)
}

// checked reports an error of a check, which is a warning on a node.
func (r *report) checked(at string, diag document.Diagnostic) {
	if r.checks {
		r.errorAt(at, diag)
	} else {
		r.warnAt(at, diag)
	}
}

// origin is where the value at path came from.
func (r *report) origin(path string) document.Origin { return r.origins[path] }

func (r *report) say(path string, diag document.Diagnostic) {
	diag.Field = path
	for at := path; ; at = at[:strings.LastIndexByte(at, '.')] {
		if o := r.origins[at]; o.File != "" {
			r.reportAt(o, diag)
			return
		}
		if !strings.Contains(at, ".") {
			r.reportAt(document.Origin{File: r.cluster.Path, Line: 1, Column: 1}, diag)
			return
		}
	}
}

// reportAt reports at one place, with the severity that diag has.
func (r *report) reportAt(o document.Origin, diag document.Diagnostic) {
	doc := r.docs[o.File]
	if doc == nil {
		doc = r.cluster
	}
	doc.ReportAt(document.Pos{Line: o.Line, Column: o.Column}, diag)
}
