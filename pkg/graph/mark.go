package graph

import (
	"errors"
	"time"
)

// The marks that a visit puts on its error to say what may come of it. An error without a mark is
// permanent: to try again what nobody called worth it hides bugs. The outermost mark counts. Of
// joined errors one that is marked Permanent decides, then one that is Transient, and Wait counts
// only when all of them wait.
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
// tries again as RunOptions.Retry says. Nil stays nil.
func Transient(err error) error { return marked(err, transient) }

// Permanent marks an error that no further attempt will change, although an error in it was marked
// Transient: a document that arrived but has the wrong hash. Nil stays nil.
func Permanent(err error) error { return marked(err, permanent) }

func marked(err error, kind verdict) error {
	if err == nil {
		return nil
	}
	return &mark{err: err, kind: kind}
}

// WaitError says that only time brings what is missing: a pod CIDR that was not assigned yet, a
// file that a DaemonSet will write. It fails nothing and is not tried again within the run.
type WaitError struct {
	Reason string
	Until  time.Time // when it is to be looked at again, whatever else happens; zero: there is no such time
}

func (e *WaitError) Error() string { return e.Reason }

// Wait makes a WaitError. The reason names what is waited for, so that "waiting for " may stand
// before it.
func Wait(reason string) error { return &WaitError{Reason: reason} }

// WaitUntil is Wait for what is judged otherwise from a time on.
func WaitUntil(reason string, at time.Time) error { return &WaitError{Reason: reason, Until: at} }

// IsTransient says whether Run would try again after this error.
func IsTransient(err error) bool { return judge(err) == transient }

// IsPermanent says that an error was marked as one that no other attempt helps with.
func IsPermanent(err error) bool { return judge(err) == permanent }

// IsWait says whether Run would call a node that returned this error Waiting.
func IsWait(err error) bool { return judge(err) == waits }

func judge(err error) verdict {
	for err != nil {
		switch e := err.(type) { // this is the walk itself
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
