package desired

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/statestore"
)

// OneLine returns an error on one line. Of several errors in documents it returns the first.
func OneLine(err error) string {
	words := err.Error()
	if documents, ok := errors.AsType[*DocumentError](err); ok {
		words = documents.first()
	}
	return strings.Join(strings.Fields(words), " ")
}

// DocumentError reports documents that cannot be used. Its text has every diagnostic.
type DocumentError struct {
	Store       string
	Revision    statestore.Revision
	Published   time.Time
	By          string // who published the documents, see [manifest.Note]
	Diagnostics document.Diagnostics
}

func (e *DocumentError) Error() string {
	return fmt.Sprintf("the documents of %s have errors; nothing was changed:\n%s", e.Store,
		strings.TrimSuffix(e.Diagnostics.String(), "\n"))
}

// Unwrap returns the first of the errors, which has the identifier.
func (e *DocumentError) Unwrap() error { return e.Diagnostics.Err() }

// first returns the first error on one line, and the number of further errors.
func (e *DocumentError) first() string {
	errs := slices.DeleteFunc(slices.Clone(e.Diagnostics),
		func(d document.Diagnostic) bool { return d.Severity != document.SeverityError })
	if len(errs) == 0 {
		return "the documents have errors"
	}
	text := errs[0].Origin.String() + ": " + errs[0].Summary
	if len(errs) > 1 {
		text += fmt.Sprintf(" (and %d more)", len(errs)-1)
	}
	return text
}
