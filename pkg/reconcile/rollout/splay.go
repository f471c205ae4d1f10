package rollout

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
)

// when returns the moment from which a node takes a change that only time has held back since
// free, and what it waits for. The splay spreads the nodes of a fleet by their names, counted from
// the moment when the change was free or when the window began. It never exceeds the window,
// because otherwise the last nodes would never take the change.
func when(u policy.Update, node string, free, now time.Time) (time.Time, string) {
	begin, span := free, time.Duration(u.Splay)
	from, until := u.Next(now)
	if from.After(begin) {
		begin = from
	}
	if !until.IsZero() {
		span = min(span, until.Sub(begin))
	}
	at := begin.Add(time.Duration(float64(span) * UnitHash(node))).Truncate(time.Second)
	if from.After(now) {
		return at, fmt.Sprintf("it is outside of spec.update.window: the next one begins at %s, and in it this node's "+
			"turn is at %s", report.Stamp(from), report.Stamp(at))
	}
	return at, fmt.Sprintf("the fleet is spread over spec.update.splay (%s): this node's turn is at %s", u.Splay,
		report.Stamp(at))
}

// free records since when only time holds a change back. A clock that is set meanwhile must make a
// splay neither shorter nor longer: otherwise a fleet whose clocks are set ahead would take the
// change at the same moment. Nothing is known about a time of another boot. If the clock was set
// back since, the waiting time starts again.
func free(u *ledger.Update, now time.Time, clock ledger.Clock) {
	passed := clock.Up - u.FreeUp
	switch known := u.FreeUp > 0 && clock.Boot == u.FreeBoot && passed >= 0; {
	case u.Free.IsZero() || !known && u.Free.After(now):
		u.Free, u.FreeBoot, u.FreeUp = now, clock.Boot, clock.Up
	case known && (now.Sub(u.Free)-passed).Abs() > clockStep:
		u.Free = now.Add(-passed).Truncate(time.Second)
	}
}

// clockStep is the difference of two clocks from which a clock counts as set.
const clockStep = time.Minute

// Bucket returns a node's number below 100 for one change. Different changes have different first
// nodes. print identifies what the change makes of the node, and not the generation: a higher
// percent is a new generation, and the nodes that took the change must stay among those that may.
func Bucket(node, print string) int { return int(UnitHash(node+"\x00"+print) * 100) }

// UnitHash returns a number from 0 up to, but not including, 1 that depends only on a text.
func UnitHash(text string) float64 {
	sum := sha256.Sum256([]byte(text))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / math.Exp2(53)
}
