package drift

import (
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
)

// A key that pods depend on is never given up. Without it they have no network, and a value that is
// right most of the time helps them more than one that is wrong for an hour.
const (
	PodsPause = 10 * time.Second // the longest pause between two repairs
	PodsOver  = time.Minute      // the conflict is over once the key stayed right for so long
)

// judgePods decides whether a key that pods depend on is repaired now. Its pauses grow as those of
// other keys do, but never above PodsPause. It is contested after as many repairs as make another
// key be given up. gone means that the other program no longer runs: the key is then repaired at
// once. That happens once in a conflict, because the program may have been one process of many.
func (p damping) judgePods(d *ledger.Drift, now time.Time, gone bool) decision {
	last := d.Last()
	passed := now.Sub(last)
	if last.IsZero() || passed < 0 || passed >= PodsOver {
		return decision{repair: true, anew: true}
	}
	pause := PodsPause
	if made := len(d.Recent); made < p.repairs {
		pause = min(pause, p.pause(made))
	}
	early := gone && d.Trials == 0 && passed < pause
	return decision{repair: passed >= pause || early, until: last.Add(pause), contested: p.contestedPods(d),
		retry: early}
}

func (p damping) contestedPods(d *ledger.Drift) bool { return len(d.Recent) >= p.repairs }

// notedPods returns what the ledger says about such a key that is repaired now. It keeps when the
// conflict began and its last repairs only, because a conflict may last for years.
func (p damping) notedPods(was *ledger.Drift, by decision, now time.Time) *ledger.Drift {
	d := ledger.Drift{First: now}
	if was != nil {
		d = *was
	}
	d.Repairs++
	if by.anew {
		d.Trials, d.Recent, d.Writer, d.By = 0, nil, "", host.WriterID{}
	} else if by.retry {
		d.Trials++
	}
	d.Recent = append(slices.Clone(d.Recent), now)
	if more := len(d.Recent) - p.repairs; more > 0 {
		d.Recent = slices.Delete(d.Recent, 1, 1+more)
	}
	return &d
}
