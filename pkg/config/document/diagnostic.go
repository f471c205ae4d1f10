package document

import (
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/problem"
)

// Severity of a diagnostic.
type Severity string

// An error makes the configuration unusable; a warning does not, and a note asks for nothing.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityNote    Severity = "note"
)

// Diagnostic is one complaint about a document, complete enough to mend it without a manual. Its
// JSON form is stable.
type Diagnostic struct {
	Severity Severity   `json:"severity"`
	ID       problem.ID `json:"id"` // of the section that says more
	Origin   Origin     `json:"origin"`
	Summary  string     `json:"summary"`            // one line, no position: `unknown field "mtuu"`
	Field    string     `json:"field,omitempty"`    // "spec.networking.bridge.mtuu"
	Line     string     `json:"line,omitempty"`     // the line of the document; values that may be secret are left out
	Caret    string     `json:"caret,omitempty"`    // blanks and a ^, to be printed under Line
	Expected string     `json:"expected,omitempty"` // "a whole number from 576 to 65535", "one of bridge, calico …"
	Hint     string     `json:"hint,omitempty"`     // what to do: `did you mean "mtu"?`
}

// String renders the diagnostic for a terminal, several lines without a final newline.
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

// wrap breaks a long enumeration of names into lines.
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

// Diagnostics are all complaints of one load, in the order of documents and lines.
type Diagnostics []Diagnostic

// HasErrors reports whether the configuration cannot be used.
func (ds Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == SeverityError })
}

// String renders all diagnostics, one after the other, each with a final newline.
func (ds Diagnostics) String() string {
	var b strings.Builder
	for _, d := range ds {
		b.WriteString(d.String() + "\n")
	}
	return b.String()
}

// Err is nil when there is no error among the diagnostics; else an error whose text is all of them,
// of the kind of the first. Permanent: the same documents fail again.
func (ds Diagnostics) Err() error {
	if !ds.HasErrors() {
		return nil
	}
	return refused(ds)
}

// refused are diagnostics with an error among them.
type refused Diagnostics

func (r refused) Error() string { return strings.TrimSuffix(Diagnostics(r).String(), "\n") }

// Problem is the identifier of the first error.
func (r refused) Problem() problem.ID {
	i := slices.IndexFunc(r, func(d Diagnostic) bool { return d.Severity == SeverityError })
	return r[i].ID
}
