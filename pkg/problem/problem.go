// Package problem names what can go wrong. Each kind of error has an identifier, which never
// changes once it was released, and a section in docs/reference/errors.md, which is made of the
// table here. An error bears it at the end of its text, so that whoever reads a terminal, a journal
// or a status finds the section.
package problem

import (
	"errors"
	"fmt"
)

// All are the rows, by part of the agent and then as in the table.
func All() []Part {
	return []Part{
		{"Documents", documents},
		{"What a node is told to become", plans},
		{"State store", stores},
		{"Keys, signatures and generations", trusted},
		{"The host", hosts},
		{"What keeps a node as it is", blocked},
		{"Commands", commands},
	}
}

// Part is one heading of the page.
type Part struct {
	Title string
	Rows  []Row
}

// Errorf is fmt.Errorf, for an error of this kind.
func (id ID) Errorf(format string, args ...any) error {
	return id.Wrap(fmt.Errorf(format, args...))
}

// Because is an error of this kind whose text does not show its cause: what is wrong is said
// already, and in better words.
func (id ID) Because(cause error, format string, args ...any) error {
	return id.Wrap(&caused{fmt.Sprintf(format, args...), cause})
}

type caused struct {
	text  string
	cause error
}

func (c *caused) Error() string { return c.text }
func (c *caused) Unwrap() error { return c.cause }

// Wrap gives an error this identifier, unless it has one: whoever is nearest to the cause knows
// best. Of nil it is nil.
func (id ID) Wrap(err error) error {
	if err == nil || Find(err) != "" {
		return err
	}
	return &named{err, id}
}

// String is how texts end that bear the identifier.
func (id ID) String() string { return "[" + string(id) + "]" }

// Section is where the page of all errors tells of this one.
func (id ID) Section() string {
	return "https://github.com/netwright/netwright/blob/main/docs/reference/errors.md#" + string(id)
}

// Find is the identifier of an error; "" for none.
func Find(err error) ID {
	var p interface{ Problem() ID }
	if !errors.As(err, &p) {
		return ""
	}
	return p.Problem()
}

// KindOf is the identifier of an error that is shown to a user: the one that it bears, or that of
// its type, which has a method Kind; [Other] where it has neither.
func KindOf(err error) ID {
	if id := Find(err); id != "" {
		return id
	}
	var of interface{ Kind() ID }
	if errors.As(err, &of) {
		return of.Kind()
	}
	return Other
}

type named struct {
	error
	id ID
}

func (n *named) Error() string { return n.error.Error() + " " + n.id.String() }
func (n *named) Unwrap() error { return n.error }
func (n *named) Problem() ID   { return n.id }

// ID is the identifier of a kind of error: words of small letters, joined by hyphens.
type ID string

// Row is the section of one identifier.
type Row struct {
	ID      ID
	Means   string // what is wrong, in one sentence
	Do      string // what to do next, in one sentence or two
	Page    string // of docs/, where more of it stands; "" for none
	Warning bool   // it is only ever a warning
}
