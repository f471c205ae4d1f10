package nodestatus

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"time"
)

// registration identifies the Node that was written to. A Node that was deleted and registered
// again has lost what was published.
type registration struct {
	uid string    // "": unknown
	at  time.Time // when to look again
}

// checkAt returns when to check that the Node is still the same; zero: nothing was published.
func (r *registration) checkAt(c *condition) time.Time {
	if c.published == nil {
		return time.Time{}
	}
	return r.at
}

// look reads the Node's UID, and reports whether another Node was written to before.
func (r *registration) look(ctx context.Context, to Client, node string, now time.Time) (another bool, err error) {
	uid, err := to.Registered(ctx, node)
	if errors.Is(err, fs.ErrNotExist) { // the Node was deleted, and the next one is another Node
		r.uid = ""
		return true, err
	}
	if err != nil {
		return false, err
	}
	another = r.uid != "" && r.uid != uid
	r.uid, r.at = uid, now.Add(time.Duration(float64(reRegistered)*(0.9+0.2*rand.Float64())))
	return another, nil
}

// again publishes everything once more, to another Node.
func (n *Node) again(now time.Time) {
	n.condition.published, n.condition.at = nil, now.Add(rand.N(urgent))
	n.applied.published, n.applied.at = "", now.Add(rand.N(urgent))
}
