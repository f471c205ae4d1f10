package nodestatus

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/kube"
)

// Pauses after failures.
const (
	retryFirst = 5 * time.Second  // after a failure, doubled each time …
	retryMax   = 5 * time.Minute  // … up to this,
	retryNone  = time.Minute      // … this where there is no Node or kubeconfig yet,
	retryNever = 30 * time.Minute // … and this where another attempt cannot help
)

// attempts is the result of the requests of one kind.
type attempts struct {
	failures  int
	notBefore time.Time // no request is made before
	said      bool      // the failure was logged
}

// postpone returns at, or notBefore where that is later.
func (a *attempts) postpone(at time.Time) time.Time {
	if !at.IsZero() && at.Before(a.notBefore) {
		return a.notBefore
	}
	return at
}

// pause returns how long to wait after failures: at least as long as the API asks for, within
// limits ([kube.RetryAfter]), plus a random time that grows with the failures.
func pause(err error, failures int) time.Duration {
	most := retryMax
	switch {
	case errors.Is(err, fs.ErrNotExist):
		most = retryNone
	case !graph.IsTransient(err) && !errors.Is(err, kube.ErrUnknown):
		most = retryNever
	}
	d := min(retryFirst<<min(failures-1, 16), most)
	return kube.RetryAfter(err) + d/2 + rand.N(d)
}
