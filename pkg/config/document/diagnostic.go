package document

import (
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/problem"
)

// Severity is how serious a diagnostic is.
type Severity string

// With an error the configuration cannot be used. With a warning it can. A note asks for nothing.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityNote    Severity = "note"
)

// Diagnostic is one problem in a document. It says enough to correct the document without a manual.
// Its JSON form is stable.
type Diagnostic struct {
	Severity Severity   `json:"severity"`
	ID       problem.ID `json:"id"` // the section of the manual that says more
	Origin   Origin     `json:"origin"`
	Summary  string     `json:"summary"`            // one line without the position: `unknown field "mtuu"`
	Field    string     `json:"field,omitempty"`    // "spec.networking.bridge.mtuu"
	Line     string     `json:"line,omitempty"`     // the line of the document, without values that may be secret
	Caret    string     `json:"caret,omitempty"`    // spaces and a ^, to be printed under Line
	Expected string     `json:"expected,omitempty"` // "a whole number from 576 to 65535", "one of bridge, calico …"
	Hint     string     `json:"hint,omitempty"`     // what to do: `did you mean "mtu"?`
}

// String returns the diagnostic for a terminal: several lines, without a final newline.
func (d Diagnostic) String() string {
	var b strings.Builder
	if at := d.Origin.String(); at != "" {
		b.WriteString(at + ": ")
	}
	if d.Severity != SeverityError && d.Severity != "" {
		b.WriteString(string(d.Severity) + ": ")
	}
	b.WriteString(d.Summary + " " + d.ID.String())
	if d.Line != "" {
		b.WriteString("\n    " + d.Line)
		if d.Caret != "" {
			b.WriteString("\n    " + d.Caret)
		}
	}
	if d.Expected != "" {
		b.WriteString("\n  expected: " + wrap(d.Expected))
	}
	if d.Hint != "" {
		b.WriteString("\n  " + d.Hint)
	}
	return b.String()
}

// wrap breaks a long list of names into lines.
func wrap(s string) string {
	const width = 100
	var b strings.Builder
	column := 0
	for i, word := range strings.SplitAfter(s, ", ") {
		if i > 0 && column+len(word) > width {
			b.WriteString("\n    ")
			column = 0
		}
		b.WriteString(word)
		column += len(word)
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

// Diagnostics are all problems of one load, in the order of documents and lines.
type Diagnostics []Diagnostic

// HasErrors reports whether the configuration cannot be used.
func (ds Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == SeverityError })
}

// String returns all diagnostics, one after the other, each with a final newline.
func (ds Diagnostics) String() string {
	var b strings.Builder
	for _, d := range ds {
		b.WriteString(d.String() + "\n")
	}
	return b.String()
}

// Err returns nil if the diagnostics have no error. Otherwise it returns an error with the text of
// all of them and the ID of the first error. The error is permanent: the same documents fail again.
func (ds Diagnostics) Err() error {
	if !ds.HasErrors() {
		return nil
	}
	return refused(ds)
}

// refused is an error that consists of diagnostics, at least one of them an error.
type refused Diagnostics

func (r refused) Error() string { return strings.TrimSuffix(Diagnostics(r).String(), "\n") }

// Problem returns the identifier of the first error.
func (r refused) Problem() problem.ID {
	i := slices.IndexFunc(r, func(d Diagnostic) bool { return d.Severity == SeverityError })
	return r[i].ID
}
