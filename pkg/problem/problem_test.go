package problem

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

func TestErrorsBearOneIdentifier(t *testing.T) {
	cause := errors.New("no route")
	near := StoreUnreachable.Errorf("ask the store: %w", cause)
	far := Other.Wrap(fmt.Errorf("fetch: %w", near))
	if got, want := far.Error(), "fetch: ask the store: no route [store-unreachable]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if Find(far) != StoreUnreachable || !errors.Is(far, cause) {
		t.Errorf("identifier %q; the cause is there: %v", Find(far), errors.Is(far, cause))
	}
	if hidden := StoreMissing.Missing("there is none of that name"); hidden.Error() != "there is none of that name [store-missing]" || !errors.Is(hidden, fs.ErrNotExist) {
		t.Errorf("%q; the cause is there: %v", hidden, errors.Is(hidden, fs.ErrNotExist))
	}
	if Find(cause) != "" || Other.Wrap(nil) != nil {
		t.Error("an error without identifier has one, or none became one")
	}
}

// The page comes from the table. Each row has one or two sentences, and no identifier is there
// twice.
func TestTable(t *testing.T) {
	seen := map[ID]bool{}
	word := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, p := range All() {
		for _, r := range p.Rows {
			if seen[r.ID] || !word.MatchString(string(r.ID)) {
				t.Errorf("%s is there twice, or is no word", r.ID)
			}
			seen[r.ID] = true
			for _, text := range []string{r.Means, r.Do} {
				if !strings.HasSuffix(text, ".") || strings.ToUpper(text[:1]) != text[:1] && text[0] != '`' {
					t.Errorf("%s: %q is no sentence", r.ID, text)
				}
			}
		}
	}
}

type ofAKind struct{}

func (ofAKind) Error() string { return "it is paused" }
func (ofAKind) Kind() ID      { return NodePaused }

// The kind in an error itself counts before the kind of its type. An error without both has the
// kind other. The lines that keep it: problem.go, KindOf.
func TestKindOf(t *testing.T) {
	for want, err := range map[ID]error{
		NodePaused:       fmt.Errorf("roll back: %w", ofAKind{}),
		SwitchNotAllowed: SwitchNotAllowed.Wrap(ofAKind{}),
		Other:            errors.New("something"),
	} {
		if got := KindOf(err); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}
