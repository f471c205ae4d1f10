// Package problem has the identifiers of errors. Each kind of error has one, which never changes
// after its release, and a section in docs/reference/errors.md, which is generated from the tables
// here. The identifier is at the end of the error's text, so that the reader of a terminal, a
// journal or a status finds the section.
package problem

import (
	"errors"
	"fmt"
	"io/fs"
)

// All returns the identifiers by part of the agent, each part in the order of its table.
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

// Errorf does what fmt.Errorf does, for an error with this identifier.
func (id ID) Errorf(format string, args ...any) error {
	return id.Wrap(fmt.Errorf(format, args...))
}

// Missing is [Missing] with this identifier.
func (id ID) Missing(format string, args ...any) error {
	return id.Wrap(Missing(format, args...))
}

// Missing does what fmt.Errorf does, for an error that matches [fs.ErrNotExist]. It is for what is
// no file. So the text does not end in "file does not exist".
func Missing(format string, args ...any) error { return missing{fmt.Errorf(format, args...)} }

type missing struct{ error }

func (m missing) Unwrap() []error { return []error{m.error, fs.ErrNotExist} }

// Wrap adds this identifier to an error that has none. An identifier from nearer to the cause
// stays. Wrap returns nil for nil.
func (id ID) Wrap(err error) error {
	if err == nil || Find(err) != "" {
		return err
	}
	return &named{err, id}
}

// String returns the form of the identifier at the end of a text.
func (id ID) String() string { return "[" + string(id) + "]" }

// Section returns the URL of the section of this identifier.
func (id ID) Section() string {
	return "https://github.com/netwright/netwright/blob/main/docs/reference/errors.md#" + string(id)
}

// Find returns the identifier of an error; "" for none.
func Find(err error) ID {
	var p interface{ Problem() ID }
	if !errors.As(err, &p) {
		return ""
	}
	return p.Problem()
}

// KindOf returns the identifier of an error for its user: the one that Find returns, or that of the
// method Kind of the error, or [Other].
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
