package graph

import (
	"errors"
	"time"
)

// A visit marks its error to say whether another attempt can help. An error without a mark is
// permanent: to retry an error that nobody marked would hide bugs. The outermost mark counts. Among
// joined errors, a Permanent one decides, then a Transient one; Wait counts only where all of them
// wait.
type mark struct {
	err  error
	kind verdict
}

type verdict uint8

const (
	unmarked verdict = iota
	permanent
	transient
	waits
)

func (m *mark) Error() string { return m.err.Error() }
func (m *mark) Unwrap() error { return m.err }

// Transient marks an error that another attempt may not meet (network, lock, a busy file). Run
// retries by RunOptions.Retry. Nil stays nil.
func Transient(err error) error { return marked(err, transient) }

// Permanent marks an error that no other attempt can change, even where it wraps a Transient one: a
// document that arrived with the wrong hash. Nil stays nil.
func Permanent(err error) error { return marked(err, permanent) }

func marked(err error, kind verdict) error {
	if err == nil {
		return nil
	}
	return &mark{err: err, kind: kind}
}

// WaitError says that only time can help: a pod CIDR that is not assigned yet, a file that a
// DaemonSet will write. It is no failure, and Run does not retry it.
type WaitError struct {
	Reason string
	Until  time.Time // when to look again, whatever else happens; zero: no such time
}

func (e *WaitError) Error() string { return e.Reason }

// Wait returns a WaitError. The reason names what is awaited, so that "waiting for " may stand
// before it.
func Wait(reason string) error { return &WaitError{Reason: reason} }

// WaitUntil returns a WaitError whose result may change at a known time.
func WaitUntil(reason string, at time.Time) error { return &WaitError{Reason: reason, Until: at} }

// IsTransient reports whether Run would retry after this error.
func IsTransient(err error) bool { return judge(err) == transient }

// IsPermanent reports whether an error was marked Permanent.
func IsPermanent(err error) bool { return judge(err) == permanent }

// IsWait reports whether a node that returned this error would be Waiting.
func IsWait(err error) bool { return judge(err) == waits }

func judge(err error) verdict {
	for err != nil {
		switch e := err.(type) { // judge itself walks the wrapped errors
		case *mark:
			return e.kind
		case *WaitError:
			return waits
		case interface{ Unwrap() []error }:
			return judgeAll(e.Unwrap())
		}
		err = errors.Unwrap(err)
	}
	return unmarked
}

func judgeAll(errs []error) verdict {
	var count [waits + 1]int
	for _, err := range errs {
		count[judge(err)]++
	}
	switch {
	case count[permanent] > 0:
		return permanent
	case count[transient] > 0:
		return transient
	case len(errs) > 0 && count[waits] == len(errs):
		return waits
	}
	return unmarked
}
