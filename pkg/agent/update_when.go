package agent

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/netwright/netwright/pkg/config/policy"
)

// when is the moment from which a node takes a change that nothing but time has held back since
// free, and what is waited for. The nodes of a fleet are spread by their names over the splay, from
// when the change was free or the window began; never beyond the window, for else the last would
// not have theirs.
func when(u policy.Update, node string, free, now time.Time) (time.Time, string) {
	begin, span := free, time.Duration(u.Splay)
	from, until := u.Next(now)
	if from.After(begin) {
		begin = from
	}
	if !until.IsZero() {
		span = min(span, until.Sub(begin))
	}
	at := begin.Add(time.Duration(float64(span) * fraction(node))).Truncate(time.Second)
	if from.After(now) {
		return at, fmt.Sprintf("it is outside of spec.update.window: the next one begins at %s, and in it this node's turn is at %s", stamp(from), stamp(at))
	}
	return at, fmt.Sprintf("the fleet is spread over spec.update.splay (%s): this node's turn is at %s", u.Splay, stamp(at))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// place is a node's among a hundred for one change: other changes have other first nodes. print
// names what the change makes of the node, and not the generation: raising the percent is one more
// generation, and who has taken the change shall stay among those that may.
func place(node, print string) int { return int(fraction(node+"\x00"+print) * 100) }

// fraction is a number from 0 up to 1, without it, that a text has.
func fraction(text string) float64 {
	sum := sha256.Sum256([]byte(text))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / math.Exp2(53)
}
